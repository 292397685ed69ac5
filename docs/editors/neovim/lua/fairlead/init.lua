-- Fairlead in Neovim 0.11 or newer, without plugins. Copy the folder of this file to ~/.config/nvim/lua/ and put
--
--   require('fairlead').setup({ cmd = { '/path/to/fairlead/.venv/bin/fairlead', 'serve' } })
--
-- into init.lua. docs/editors.md explains the commands and keys.

local S = require('fairlead.state')
local diff = require('fairlead.diff')
local panel = require('fairlead.panel')

local M = {}

local api, lsp = vim.api, vim.lsp

-- The server: one for each root, started by the first command there

local function root_of(buf)
  return vim.fs.root(buf, '.git') or vim.uv.cwd()
end

local function attach(client, buf)
  local name = api.nvim_buf_get_name(buf)
  if api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == '' and vim.fs.relpath(client.root_dir, name) then
    lsp.buf_attach_client(buf, client.id)
  end
end

local function attach_everywhere(buf)
  for _, client in ipairs(lsp.get_clients({ name = 'fairlead' })) do
    attach(client, buf)
  end
end

---Starts the server for the root of the current buffer, if it does not run yet.
---@return vim.lsp.Client
local function start()
  local session = S.sessions[S.current or '']
  local shown = session and lsp.get_client_by_id(session.client)
  if shown and vim.bo.buftype ~= '' then
    return shown
  end
  local config = vim.deepcopy(lsp.config.fairlead)
  config.root_dir = vim.fs.normalize(root_of(0))
  config.init_options = vim.tbl_extend('keep', config.init_options or {}, {
    storageDir = vim.fs.joinpath(vim.fn.stdpath('data'), 'fairlead', vim.fn.sha256(config.root_dir):sub(1, 16)),
  })
  local client = assert(lsp.get_client_by_id(assert(lsp.start(config, { attach = false }))))
  vim.tbl_map(function(buf) attach(client, buf) end, api.nvim_list_bufs())
  return client
end

-- The commands

---What a review said; what went well needs no word.
local function reviewed(result)
  for _, outcome in ipairs(result.outcomes) do
    if outcome.message ~= '' then
      S.say(outcome.message, outcome.outcome == 'applied' and vim.log.levels.INFO or vim.log.levels.WARN)
    end
  end
  vim.cmd('checktime')
end

local function review(session, method, params)
  params.sessionId = session.id
  S.request(S.client_of(session), 'agent/edits/' .. method, params, reviewed)
end

---The decision that the server offers for the change at the cursor, in a file of the user's.
local function at_cursor(session, method, reason)
  local client = S.client_of(session)
  local params = lsp.util.make_range_params(0, client.offset_encoding)
  params.context = { diagnostics = {} }
  S.request(client, 'textDocument/codeAction', params, function(actions)
    for _, action in ipairs(actions or {}) do
      if action.command and action.command.command == 'fairlead.server.' .. method then
        local decision = action.command.arguments[1]
        decision.reason = reason
        return S.request(client, 'agent/edits/' .. method, decision, reviewed)
      end
    end
    S.warn('no proposed change at the cursor')
  end)
end

---The target for the change at the cursor, in a proposed text.
local function target_in_proposed(file)
  if file.kind ~= 'modify' then
    return { uri = file.uri }
  end
  local line, above_removed = api.nvim_win_get_cursor(0)[1], nil
  for _, hunk in ipairs(file.hunks) do
    local target = { uri = file.uri, hunk = hunk.id }
    if hunk.newLines == 0 and line == hunk.newStart then
      above_removed = target
    end
    -- removed lines are decided at the line below them, where `]c` goes; `newStart` is the line above them
    local first = hunk.newLines == 0 and hunk.newStart + 1 or hunk.newStart
    if line >= first and line < first + math.max(hunk.newLines, 1) then
      return target
    end
  end
  return above_removed
end

local function file_here(session)
  if panel.is_current() then
    return (panel.row() or {}).file
  end
  local name = api.nvim_buf_get_name(0)
  for _, file in ipairs(session.edits and session.edits.files or {}) do
    if vim.uri_to_fname(file.uri) == name or S.proposed_name(session, file) == name then
      return file
    end
  end
end

local function decide(method, args)
  local session = S.current_session()
  if not session then
    return
  end
  local here, in_panel = file_here(session), panel.is_current()
  local scope, reason = args:match('^(%a*)%s*(.*)$')
  if scope ~= 'file' and scope ~= 'all' then
    scope, reason = in_panel and 'file' or 'change', args
  end
  reason = reason ~= '' and reason or nil
  local is_proposed = S.session_of(api.nvim_buf_get_name(0)) ~= nil
  if scope == 'change' and not is_proposed then
    return at_cursor(session, method, reason)
  end
  local target = scope == 'all' and { all = true } or scope == 'file' and here and { uri = here.uri }
  if scope == 'change' and here then
    target = target_in_proposed(here)
  end
  if not target then
    return S.warn(scope == 'file' and 'no proposed file here' or 'no proposed change at the cursor')
  end
  review(session, method, { target = target, version = session.edits and session.edits.version, reason = reason })
end

local function run(prompt, range)
  local client = start()
  local session = S.sessions[S.current or '']
  if session and session.client ~= client.id then
    session = nil
  end
  if session and session.running then
    return S.request(client, 'agent/steer', { sessionId = session.id, text = prompt })
  end
  local params = { prompt = prompt, sessionId = session and session.id, context = range and { range } }
  S.request(client, 'agent/runTask', params, function(result)
    local found = S.sessions[result.sessionId]
    if result.stopReason ~= 'end_turn' then
      S.add_line(found, result.message ~= '' and result.message or result.stopReason)
      S.warn(('%s: %s'):format(result.stopReason, result.message))
    else
      local count = #(found.edits and found.edits.files or {})
      S.say(('done, %d %s to review'):format(count, count == 1 and 'file' or 'files'))
    end
    panel.redraw()
  end)
end

local COMMANDS = {}

function COMMANDS.run(args, command)
  local range
  if command.range > 0 then
    range = {
      uri = vim.uri_from_bufnr(0),
      range = { start = { line = command.line1 - 1, character = 0 }, ['end'] = { line = command.line2, character = 0 } },
    }
  end
  local function go(prompt)
    if prompt and vim.trim(prompt) ~= '' then
      run(prompt, range)
      panel.open()
    end
  end
  if args ~= '' then
    return go(args)
  end
  vim.ui.input({ prompt = 'Fairlead, do: ' }, go)
end

function COMMANDS.new()
  S.current = false
  panel.redraw()
end

COMMANDS.accept = function(args) decide('accept', args) end
COMMANDS.reject = function(args) decide('reject', args) end

for _, method in ipairs({ 'undo', 'redo' }) do
  COMMANDS[method] = function()
    local session = S.current_session()
    if session then
      review(session, method, {})
    end
  end
end

function COMMANDS.diff()
  local session = S.current_session()
  local file = session and (file_here(session) or (session.edits and session.edits.files[1]))
  if file then
    diff.show(session, file)
  elseif session then
    S.warn('nothing to review')
  end
end

function COMMANDS.answer()
  local session = S.current_session()
  local question = session and session.questions[1]
  if not question then
    return session and S.say('nothing to answer')
  end
  local prompt = question.text .. '\n'
  vim.ui.select(question.options, { prompt = prompt, format_item = question.label, kind = 'fairlead' }, function(choice)
    if choice == '' then
      vim.ui.input({ prompt = question.title .. ' ' }, question.answer)
    elseif choice then
      question.answer(choice)
    end
  end)
end

function COMMANDS.stop()
  local session = S.current_session()
  if session then
    S.request(S.client_of(session), 'agent/cancel', { sessionId = session.id })
  end
end

function COMMANDS.sessions()
  local client = start()
  S.request(client, 'agent/sessions/list', vim.empty_dict(), function(result)
    local function label(row)
      if row.openElsewhere then
        return row.title .. '  (open elsewhere)'
      end
      return ('%s  %d/%d, %d files to review'):format(row.title, row.completed, row.total, row.pendingFiles)
    end
    vim.ui.select(result.sessions, { prompt = 'Session', format_item = label }, function(row)
      if not row then
        return
      end
      S.request(client, 'agent/sessions/open', { sessionId = row.sessionId }, function(opened)
        local session = S.session_for(row.sessionId, client.id)
        session.plan, session.edits, session.running = opened.plan, opened.edits, opened.phase == 'running'
        session.log = {}
        for _, item in ipairs(opened.transcript) do
          require('fairlead.handlers')['agent/event'](nil, item, { client_id = client.id })
        end
        S.current = row.sessionId
        panel.open()
      end)
    end)
  end)
end

COMMANDS.panel = function()
  start()
  panel.open()
end

---For a statusline: what Fairlead does, or an empty text.
function M.status()
  local session = S.sessions[S.current or '']
  if not session then
    return ''
  elseif #session.questions > 0 then
    return 'Fairlead waits for you'
  end
  local files = session.edits and #session.edits.files or 0
  local plan = session.plan and ('%d/%d'):format(session.plan.completed, session.plan.total) or ''
  local state = session.running and 'working ' .. plan or files > 0 and files .. ' to review' or ''
  return state == '' and '' or 'Fairlead ' .. state
end

local function server_ended(code, signal, client_id)
  vim.schedule(function()
    for id, session in pairs(S.sessions) do
      if session.client == client_id then
        S.sessions[id] = nil
        S.current = S.current ~= id and S.current or nil
      end
    end
    if code ~= 0 or signal ~= 0 then
      S.warn('the server ended; :Fairlead panel starts it again')
    end
    panel.redraw()
  end)
end

---@param options { cmd: string[]?, settings: table? } `settings` as in docs/protocol.md
function M.setup(options)
  if vim.fn.has('nvim-0.11') == 0 then
    local version = vim.version()
    local text = 'Fairlead needs Neovim 0.11 or newer, and this is Neovim %d.%d. `:Fairlead` is not available.'
    return vim.notify(text:format(version.major, version.minor), vim.log.levels.WARN)
  end
  lsp.config('fairlead', {
    cmd = options.cmd or { 'fairlead', 'serve' },
    init_options = { settings = options.settings },
    capabilities = { experimental = { agent = { approvals = true, questions = true } } },
    handlers = require('fairlead.handlers'),
    flags = { debounce_text_changes = 0 }, -- the server merges what is typed with its proposals
    on_exit = server_ended,
  })
  local group = api.nvim_create_augroup('fairlead', {})
  local function on(events, callback, pattern)
    api.nvim_create_autocmd(events, { group = group, callback = callback, pattern = pattern })
  end
  on({ 'BufReadPost', 'BufNewFile' }, function(event) attach_everywhere(event.buf) end)
  on('BufReadCmd', diff.read_side, { 'fairlead-proposed://*', 'fairlead-base://*' })
  on('BufWriteCmd', diff.write_side, 'fairlead-proposed://*')
  api.nvim_create_user_command('Fairlead', function(command)
    local name, args = command.args:match('^(%a*)%s*(.*)$')
    local action = COMMANDS[name == '' and 'panel' or name]
    if not action then
      return S.warn('no command ' .. name)
    end
    action(args, command)
  end, {
    nargs = '*',
    range = true,
    desc = 'Fairlead, the coding agent',
    complete = function(lead, line)
      local words = vim.tbl_keys(COMMANDS)
      if line:match('Fairlead%s+[ar][ce][cj]e[pc]t%s') then
        words = { 'all', 'file' }
      end
      table.sort(words)
      return vim.tbl_filter(function(word) return vim.startswith(word, lead) end, words)
    end,
  })
end

return M
