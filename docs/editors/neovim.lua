-- Fairlead in Neovim 0.11 or newer, without plugins. Copy this file to ~/.config/nvim/lua/fairlead.lua and put
--
--   require('fairlead').setup({ cmd = { '/path/to/fairlead/.venv/bin/fairlead', 'serve' } })
--
-- into init.lua. docs/editors.md explains the commands and keys.

local M = {}

local api, lsp, notify = vim.api, vim.lsp, vim.notify

---@class Session
---@field id string
---@field client integer
---@field plan table? the last `agent/plan`
---@field edits table? the last `agent/edits`
---@field running boolean
---@field model string
---@field log string[] the conversation, line by line
---@field questions table[] approvals and questions that wait for the user

local sessions = {} ---@type table<string, Session>
local current ---@type string? the session that the panel shows
local panel = { buf = nil, rows = {} }
local namespace = api.nvim_create_namespace('fairlead')
local LOG_LINES = 500

local function say(text, level)
  -- one short line: a longer one stops the user with "Press ENTER"
  local line = vim.split(text, '\n')[1]
  notify('Fairlead: ' .. vim.fn.strcharpart(line, 0, math.max(20, vim.o.columns - 25)), level or vim.log.levels.INFO)
end

local function warn(text)
  say(text, vim.log.levels.WARN)
end

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
  local shown = current and lsp.get_client_by_id(sessions[current].client)
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

---Sends a request to the server of a session; errors are shown, results go to `done`.
local function request(client, method, params, done)
  client:request(method, params, function(error, result)
    if error then
      warn(error.message)
    elseif done then
      done(result)
    end
  end)
end

-- What is shown: the panel with the plan, the changes and the conversation

local MARKS = { pending = '○', in_progress = '▶', completed = '✓' }
local KINDS = { create = 'new', modify = '', delete = 'deleted', rename = 'renamed' }

local function path_of(session, uri)
  local path = vim.uri_to_fname(uri)
  local client = lsp.get_client_by_id(session.client)
  return client and vim.fs.relpath(client.root_dir, path) or path
end

local function file_line(session, file)
  local name = path_of(session, file.uri) .. (file.newUri and ' → ' .. path_of(session, file.newUri) or '')
  local notes = { KINDS[file.kind], file.state == 'conflict' and 'conflict' or '', file.protected and 'protected' or '' }
  local note = table.concat(vim.tbl_filter(function(word) return word ~= '' end, notes), ', ')
  return ('  %s  +%d -%d%s'):format(name, file.additions, file.deletions, note ~= '' and '  ' .. note or '')
end

---The lines of the panel, with a highlight group and what a key on the line is about.
local function panel_rows(session)
  local rows = {}
  local function add(text, group, about)
    for _, line in ipairs(vim.split(text, '\n')) do
      table.insert(rows, { line, group, about })
    end
  end
  if not session then
    add('No session yet. Start one with :Fairlead run')
    return rows
  end
  for _, question in ipairs(session.questions) do
    add('Fairlead asks; press <Enter> here to answer', 'WarningMsg', { question = question })
    add('  ' .. question.text:gsub('\n', '\n  '), nil, { question = question })
    add('')
  end
  local plan, edits = session.plan, session.edits
  local items = plan and plan.items or {}
  add(('Plan  %d/%d%s'):format(plan and plan.completed or 0, #items, session.running and '  working' or ''), 'Title')
  for _, item in ipairs(items) do
    local active = item.status == 'in_progress' and item.activeForm ~= ''
    local unsure = item.verification == 'contradicted' and '  (its last command failed)' or ''
    local group = item.status == 'completed' and 'Comment' or item.status == 'in_progress' and 'DiagnosticInfo' or nil
    add(('  %s %s%s'):format(MARKS[item.status], active and item.activeForm or item.content, unsure), group)
  end
  add('')
  local files = edits and edits.files or {}
  add(('Changes to review  %d'):format(#files), 'Title', { all = true })
  for _, file in ipairs(files) do
    add(file_line(session, file), file.state == 'conflict' and 'DiagnosticWarn' or nil, { file = file })
  end
  if edits and edits.undoLabel then
    add('  u undoes: ' .. edits.undoLabel, 'Comment')
  end
  add('')
  add('Conversation  ' .. session.model, 'Title')
  for _, line in ipairs(session.log) do
    add(line)
  end
  return rows
end

local function draw()
  if not (panel.buf and api.nvim_buf_is_valid(panel.buf)) then
    return
  end
  panel.rows = panel_rows(current and sessions[current])
  local lines = vim.tbl_map(function(row) return row[1] end, panel.rows)
  local count = api.nvim_buf_line_count(panel.buf)
  vim.bo[panel.buf].modifiable = true
  api.nvim_buf_set_lines(panel.buf, 0, -1, false, lines)
  vim.bo[panel.buf].modifiable = false
  api.nvim_buf_clear_namespace(panel.buf, namespace, 0, -1)
  for index, row in ipairs(panel.rows) do
    if row[2] then
      api.nvim_buf_set_extmark(panel.buf, namespace, index - 1, 0, { end_col = #row[1], hl_group = row[2] })
    end
  end
  for _, window in ipairs(vim.fn.win_findbuf(panel.buf)) do
    if api.nvim_win_get_cursor(window)[1] >= count and count > 1 then
      api.nvim_win_set_cursor(window, { #lines, 0 }) -- the cursor on the last line follows the conversation
    end
  end
end

local drawing = false

local function redraw()
  if not drawing then
    drawing = true
    vim.defer_fn(function()
      drawing = false
      draw()
      vim.cmd('redrawstatus!')
    end, 30)
  end
end

local function append(session, text)
  local lines = vim.split(text, '\n')
  local last = math.max(#session.log, 1)
  session.log[last] = (session.log[last] or '') .. lines[1]
  vim.list_extend(session.log, lines, 2)
  if #session.log > LOG_LINES then
    session.log = vim.list_slice(session.log, #session.log - LOG_LINES + 1)
  end
end

local function add_line(session, text)
  local last = session.log[#session.log] or ''
  append(session, (last == '' and '' or '\n') .. text .. '\n')
end

-- The diff: the user's file on the left, the proposed text on the right, where it can also be changed

local function proposed_name(session, file, scheme)
  return (file.uri:gsub('^file://', (scheme or 'fairlead-proposed') .. '://' .. session.id))
end

local function session_of(name)
  return sessions[name:match('^fairlead%-%a+://(%w+)/') or '']
end

local function fill(buf, text)
  local lines = vim.split(text, '\n')
  if text:find('\r\n', 1, true) then
    lines = vim.tbl_map(function(line) return (line:gsub('\r$', '')) end, lines)
  end
  local ended = lines[#lines] == ''
  if ended and #lines > 1 then
    table.remove(lines)
  end
  vim.bo[buf].endofline, vim.bo[buf].fixendofline = ended, false
  vim.bo[buf].modifiable = true
  api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].modified = false
end

---`BufReadCmd` for the two sides that are no files (`workspace/textDocumentContent`).
local function read_side(event)
  local session = session_of(event.match)
  local client = session and lsp.get_client_by_id(session.client)
  if not client then
    return warn('this session is not open')
  end
  vim.bo[event.buf].buftype, vim.bo[event.buf].swapfile = 'acwrite', false
  local answer = client:request_sync('workspace/textDocumentContent', { uri = event.match }, 5000)
  fill(event.buf, answer and answer.result and answer.result.text or 'The server did not answer.')
  vim.bo[event.buf].modifiable = vim.startswith(event.match, 'fairlead-proposed:')
  vim.bo[event.buf].filetype = vim.filetype.match({ filename = vim.uri_decode(event.match) }) or ''
end

---`BufWriteCmd`: the user changed the proposed text.
local function write_side(event)
  local session = assert(session_of(event.match))
  local text = table.concat(api.nvim_buf_get_lines(event.buf, 0, -1, false), '\n')
  if vim.bo[event.buf].endofline and text ~= '' then
    text = text .. '\n'
  end
  local uri = event.match:gsub('^fairlead%-proposed://%w+', 'file://')
  vim.bo[event.buf].modified = false
  local client = assert(lsp.get_client_by_id(session.client))
  request(client, 'agent/edits/amend', { sessionId = session.id, uri = uri, text = text })
end

---Shows what is proposed for a file, in a tab of its own.
local function show(session, file)
  local path = vim.uri_to_fname(file.uri)
  local left = file.kind == 'create' and proposed_name(session, file, 'fairlead-base') or path
  vim.cmd('tab split')
  vim.t.fairlead = proposed_name(session, file)
  for index, name in ipairs({ left, vim.t.fairlead }) do
    if index == 2 then
      vim.cmd('rightbelow vertical split')
    end
    local buf = vim.fn.bufadd(name)
    vim.bo[buf].buflisted = name == path
    api.nvim_win_set_buf(0, buf)
    vim.wo.winbar = index == 1 and '%#Removed# now %* ' .. path_of(session, file.uri):gsub('%%', '%%%%')
      or '%#Added# proposed %* :w proposes what you change here'
    vim.cmd.diffthis()
  end
  pcall(vim.cmd.normal, { 'gg]c', bang = true })
end

---The proposals changed: shown texts are read again, and the diff of what is decided closes.
local function refresh_sides(session)
  local pending = {}
  for _, file in ipairs(session.edits.files) do
    pending[proposed_name(session, file)] = true
  end
  for _, tab in ipairs(api.nvim_list_tabpages()) do
    local found, name = pcall(api.nvim_tabpage_get_var, tab, 'fairlead')
    if found and session_of(name) == session and not pending[name] and #api.nvim_list_tabpages() > 1 then
      vim.cmd('tabclose ' .. api.nvim_tabpage_get_number(tab))
    end
  end
  for _, buf in ipairs(api.nvim_list_bufs()) do
    local name = api.nvim_buf_get_name(buf)
    if session_of(name) == session and api.nvim_buf_is_loaded(buf) and not vim.bo[buf].modified then
      if not vim.startswith(name, 'fairlead-base:') and not pending[name] then
        api.nvim_buf_delete(buf, {})
      else
        request(lsp.get_client_by_id(session.client), 'workspace/textDocumentContent', { uri = name }, function(result)
          if api.nvim_buf_is_loaded(buf) and not vim.bo[buf].modified then
            fill(buf, result.text)
            vim.cmd('diffupdate')
          end
        end)
      end
    end
  end
  lsp.codelens.refresh()
end

-- What the server says and asks

local function session_for(id, context)
  sessions[id] = sessions[id]
    or { id = id, client = context.client_id, running = false, model = '', log = {}, questions = {} }
  current = sessions[current or ''] and current or id
  return sessions[id]
end

local function withdraw(session, matches)
  for _, question in ipairs(vim.tbl_filter(matches, session.questions)) do
    question.answer(nil)
  end
end

local EVENTS = {
  run_started = function(session, event)
    session.running, session.model, current = true, event.model, session.id
  end,
  text = function(session, event) append(session, event.text) end,
  tool_started = function(session, event) add_line(session, '› ' .. event.title) end,
  tool_finished = function(session, event)
    withdraw(session, function(question) return question.call == event.toolCallId end)
    if event.isError then
      add_line(session, '  ' .. vim.split(event.text, '\n')[1])
    end
  end,
  command_ended = function(session, event)
    add_line(session, ('  %s, %.1f s'):format(event.exitCode and 'exit code ' .. event.exitCode or event.ended, event.seconds))
  end,
  steered = function(session, event) add_line(session, '> ' .. event.text) end,
  retry = function(session, event) add_line(session, '  trying again: ' .. event.reason) end,
  run_finished = function(session)
    session.running = false
    withdraw(session, function() return true end)
  end,
}

---Waits until the user answers with `:Fairlead answer` or in the panel. Nothing takes the focus: a key that was
---meant for the text must not allow a command.
local function wait(session, question)
  local waiting = coroutine.running()
  question.answer = function(value)
    question.answer = function() end
    session.questions = vim.tbl_filter(function(other) return other ~= question end, session.questions)
    redraw()
    vim.schedule(function() coroutine.resume(waiting, value) end)
  end
  table.insert(session.questions, question)
  redraw()
  warn('waits for you (:Fairlead answer): ' .. question.title)
  return coroutine.yield()
end

local APPROVALS = { allow_once = 'Allow once', allow_session = 'Allow for this session', reject = 'Reject' }

local HANDLERS = {
  ['agent/plan'] = function(_, plan, context)
    session_for(plan.sessionId, context).plan = plan
    redraw()
  end,
  ['agent/edits'] = function(_, edits, context)
    local session = session_for(edits.sessionId, context)
    session.edits = edits
    refresh_sides(session)
    redraw()
  end,
  ['agent/event'] = function(_, event, context)
    local session = session_for(event.sessionId, context)
    local on_event = EVENTS[event.kind]
    if on_event then
      on_event(session, event)
      redraw()
    end
  end,
  ['agent/approve'] = function(_, params, context)
    local what = params.kind == 'command' and params.command or vim.uri_to_fname(params.uri)
    local option = wait(session_for(params.sessionId, context), {
      title = what,
      text = vim.fn.strtrans(what) .. '\n' .. table.concat(params.reasons, '\n'),
      options = { 'allow_once', 'allow_session', 'reject' },
      label = function(each) return APPROVALS[each] end,
      call = params.toolCallId,
    })
    return { option = option or 'reject' }
  end,
  ['agent/ask'] = function(_, params, context)
    local answer = wait(session_for(params.sessionId, context), {
      title = params.question,
      text = params.question,
      options = vim.list_extend(vim.list_slice(params.options), { '' }),
      label = function(each) return each == '' and 'Another answer' or each end,
      call = params.toolCallId,
    })
    if answer then
      add_line(session_for(params.sessionId, context), '> ' .. answer)
    end
    return { answer = answer or vim.NIL }
  end,
  -- As Neovim's own handler, and two things more: an edit for another version of a buffer changes nothing, and buffers
  -- without changes of the user are saved.
  ['workspace/applyEdit'] = function(_, params, context)
    local saved = {}
    for _, change in ipairs(params.edit.documentChanges or {}) do
      local document = change.textDocument
      local buf = document and vim.fn.bufnr(vim.uri_to_fname(document.uri)) or -1
      if buf ~= -1 and api.nvim_buf_is_loaded(buf) then
        if type(document.version) == 'number' and document.version < lsp.util.buf_versions[buf] then
          return { applied = false, failureReason = 'The buffer changed meanwhile.' }
        end
        saved[buf] = not vim.bo[buf].modified or nil
      end
    end
    local client = assert(lsp.get_client_by_id(context.client_id))
    local ok, reason = pcall(lsp.util.apply_workspace_edit, params.edit, client.offset_encoding)
    for buf in pairs(saved) do
      if api.nvim_buf_is_loaded(buf) and vim.bo[buf].modified then
        api.nvim_buf_call(buf, function() vim.cmd('silent update') end)
      end
    end
    return { applied = ok, failureReason = not ok and tostring(reason) or nil }
  end,
}

-- The commands

local function current_session()
  local session = session_of(api.nvim_buf_get_name(0)) or sessions[current or '']
  if not session then
    warn('nothing to do yet; start with :Fairlead run')
  end
  return session
end

local function client_of(session)
  return assert(lsp.get_client_by_id(session.client), 'the server of this session has ended')
end

---What a review said; what went well needs no word.
local function reviewed(result)
  for _, outcome in ipairs(result.outcomes) do
    if outcome.message ~= '' then
      say(outcome.message, outcome.outcome == 'applied' and vim.log.levels.INFO or vim.log.levels.WARN)
    end
  end
  vim.cmd('checktime')
end

local function review(session, method, params)
  params.sessionId = session.id
  request(client_of(session), 'agent/edits/' .. method, params, reviewed)
end

---The decision that the server offers for the change at the cursor, in a file of the user's.
local function at_cursor(session, method, reason)
  local client = client_of(session)
  local params = lsp.util.make_range_params(0, client.offset_encoding)
  params.context = { diagnostics = {} }
  request(client, 'textDocument/codeAction', params, function(actions)
    for _, action in ipairs(actions or {}) do
      if action.command and action.command.command == 'fairlead.server.' .. method then
        local decision = action.command.arguments[1]
        decision.reason = reason
        return request(client, 'agent/edits/' .. method, decision, reviewed)
      end
    end
    warn('no proposed change at the cursor')
  end)
end

---The target for the change at the cursor, in a proposed text.
local function target_in_proposed(file)
  local line = api.nvim_win_get_cursor(0)[1]
  for _, hunk in ipairs(file.kind == 'modify' and file.hunks or {}) do
    if line >= hunk.newStart and line < hunk.newStart + math.max(hunk.newLines, 1) then
      return { uri = file.uri, hunk = hunk.id }
    end
  end
  return file.kind ~= 'modify' and { uri = file.uri } or nil
end

local function file_here(session)
  local row = api.nvim_get_current_buf() == panel.buf and panel.rows[api.nvim_win_get_cursor(0)[1]]
  if row then
    return row[3] and row[3].file
  end
  local name = api.nvim_buf_get_name(0)
  for _, file in ipairs(session.edits and session.edits.files or {}) do
    if vim.uri_to_fname(file.uri) == name or proposed_name(session, file) == name then
      return file
    end
  end
end

local function decide(method, args)
  local session = current_session()
  if not session then
    return
  end
  local here, in_panel = file_here(session), api.nvim_get_current_buf() == panel.buf
  local scope, reason = args:match('^(%a*)%s*(.*)$')
  if scope ~= 'file' and scope ~= 'all' then
    scope, reason = in_panel and 'file' or 'change', args
  end
  reason = reason ~= '' and reason or nil
  local is_proposed = session_of(api.nvim_buf_get_name(0)) ~= nil
  if scope == 'change' and not is_proposed then
    return at_cursor(session, method, reason)
  end
  local target = scope == 'all' and { all = true } or scope == 'file' and here and { uri = here.uri }
  if scope == 'change' and here then
    target = target_in_proposed(here)
  end
  if not target then
    return warn(scope == 'file' and 'no proposed file here' or 'no proposed change at the cursor')
  end
  review(session, method, { target = target, version = session.edits and session.edits.version, reason = reason })
end

local function run(prompt, range)
  local client = start()
  local session = sessions[current or '']
  if session and session.client ~= client.id then
    session = nil
  end
  if session and session.running then
    return request(client, 'agent/steer', { sessionId = session.id, text = prompt })
  end
  local params = { prompt = prompt, sessionId = session and session.id, context = range and { range } }
  request(client, 'agent/runTask', params, function(result)
    local found = sessions[result.sessionId]
    if result.stopReason ~= 'end_turn' then
      add_line(found, result.message ~= '' and result.message or result.stopReason)
      warn(('%s: %s'):format(result.stopReason, result.message))
    else
      local count = #(found.edits and found.edits.files or {})
      say(('done, %d %s to review'):format(count, count == 1 and 'file' or 'files'))
    end
    redraw()
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
      M.panel()
    end
  end
  if args ~= '' then
    return go(args)
  end
  vim.ui.input({ prompt = 'Fairlead, do: ' }, go)
end

function COMMANDS.new()
  current = nil
  redraw()
end

COMMANDS.accept = function(args) decide('accept', args) end
COMMANDS.reject = function(args) decide('reject', args) end

for _, method in ipairs({ 'undo', 'redo' }) do
  COMMANDS[method] = function()
    local session = current_session()
    if session then
      review(session, method, {})
    end
  end
end

function COMMANDS.diff()
  local session = current_session()
  local file = session and (file_here(session) or (session.edits and session.edits.files[1]))
  if file then
    show(session, file)
  elseif session then
    warn('nothing to review')
  end
end

function COMMANDS.answer()
  local session = current_session()
  local question = session and session.questions[1]
  if not question then
    return session and say('nothing to answer')
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
  local session = current_session()
  if session then
    request(client_of(session), 'agent/cancel', { sessionId = session.id })
  end
end

function COMMANDS.sessions()
  local client = start()
  request(client, 'agent/sessions/list', vim.empty_dict(), function(result)
    local function label(row)
      return ('%s  %d/%d, %d files to review'):format(row.title, row.completed, row.total, row.pendingFiles)
    end
    vim.ui.select(result.sessions, { prompt = 'Session', format_item = label }, function(row)
      if not row then
        return
      end
      request(client, 'agent/sessions/open', { sessionId = row.sessionId }, function(opened)
        local session = session_for(row.sessionId, { client_id = client.id })
        session.plan, session.edits, session.running = opened.plan, opened.edits, opened.state == 'running'
        session.log = {}
        for _, line in ipairs(opened.transcript) do
          add_line(session, (({ user = '> ', tool = '› ' })[line.role] or '') .. line.text)
        end
        current = row.sessionId
        M.panel()
      end)
    end)
  end)
end

COMMANDS.panel = function()
  start()
  M.panel()
end

---Opens the panel beside the other windows; the focus stays where it is.
function M.panel()
  if not (panel.buf and api.nvim_buf_is_valid(panel.buf)) then
    panel.buf = api.nvim_create_buf(false, true)
    api.nvim_buf_set_name(panel.buf, 'fairlead-panel')
    vim.bo[panel.buf].filetype = 'fairlead'
    local function key(lhs, command)
      vim.keymap.set('n', lhs, function() vim.cmd('Fairlead ' .. command) end, { buffer = panel.buf, nowait = true })
    end
    key('a', 'accept file')
    key('x', 'reject file')
    key('A', 'accept all')
    key('X', 'reject all')
    key('u', 'undo')
    key('<C-r>', 'redo')
    key('i', 'run')
    key('s', 'stop')
    vim.keymap.set('n', 'q', '<cmd>close<cr>', { buffer = panel.buf, nowait = true })
    vim.keymap.set('n', '<CR>', function()
      local row = panel.rows[api.nvim_win_get_cursor(0)[1]]
      vim.cmd('Fairlead ' .. (row and row[3] and row[3].question and 'answer' or 'diff'))
    end, { buffer = panel.buf })
  end
  draw()
  for _, window in ipairs(vim.fn.win_findbuf(panel.buf)) do
    if api.nvim_win_get_tabpage(window) == api.nvim_get_current_tabpage() then
      return
    end
  end
  local width = math.max(40, math.floor(vim.o.columns / 3))
  local window = api.nvim_open_win(panel.buf, false, { split = 'right', win = -1, width = width })
  local options = { number = false, relativenumber = false, signcolumn = 'no', wrap = true, linebreak = true }
  options.winbar = ' ⏎ diff  a accept  x reject  u undo  i task%<'
  options.statusline = ' Fairlead'
  options.winfixwidth = true
  for name, value in pairs(options) do
    vim.wo[window][name] = value
  end
end

---For a statusline: what Fairlead does, or an empty text.
function M.status()
  local session = sessions[current or '']
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
    for id, session in pairs(sessions) do
      if session.client == client_id then
        sessions[id] = nil
      end
    end
    if code ~= 0 or signal ~= 0 then
      warn('the server ended; :Fairlead panel starts it again')
    end
    redraw()
  end)
end

---@param options { cmd: string[]?, settings: table? } `settings` as in docs/protocol.md
function M.setup(options)
  lsp.config('fairlead', {
    cmd = options.cmd or { 'fairlead', 'serve' },
    init_options = { settings = options.settings },
    capabilities = { experimental = { agent = { approvals = true, questions = true } } },
    handlers = HANDLERS,
    flags = { debounce_text_changes = 0 }, -- the server merges what is typed with its proposals
    on_exit = server_ended,
  })
  local group = api.nvim_create_augroup('fairlead', {})
  local function on(events, callback, pattern)
    api.nvim_create_autocmd(events, { group = group, callback = callback, pattern = pattern })
  end
  on({ 'BufReadPost', 'BufNewFile' }, function(event) attach_everywhere(event.buf) end)
  on('BufReadCmd', read_side, { 'fairlead-proposed://*', 'fairlead-base://*' })
  on('BufWriteCmd', write_side, 'fairlead-proposed://*')
  api.nvim_create_user_command('Fairlead', function(command)
    local name, args = command.args:match('^(%a*)%s*(.*)$')
    local action = COMMANDS[name == '' and 'panel' or name]
    if not action then
      return warn('no command ' .. name)
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
