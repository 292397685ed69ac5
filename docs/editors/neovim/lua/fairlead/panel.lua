-- The panel: the plan, the changes to review and the conversation, drawn again after each notification.

local S = require('fairlead.state')

local M = {}

local api = vim.api
local panel = { buf = nil, rows = {} }
local namespace = api.nvim_create_namespace('fairlead')
local MARKS = { pending = '○', in_progress = '▶', completed = '✓' }
local NOTES = {
  verified = 'verified',
  stale = 'changed since it was verified',
  failed = 'its verification failed',
  unverified = 'unverified',
  looked = 'only read',
  noEvidence = 'no evidence',
  marked = 'marked by you',
}
local KINDS = { create = 'new', modify = '', delete = 'deleted', rename = 'renamed' }

local function file_line(session, file)
  local name = S.path_of(session, file.uri) .. (file.newUri and ' → ' .. S.path_of(session, file.newUri) or '')
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
    local note = NOTES[item.verification]
    local group = item.status == 'completed' and 'Comment' or item.status == 'in_progress' and 'DiagnosticInfo' or nil
    add(('  %s %s%s'):format(MARKS[item.status], active and item.activeForm or item.content, note and '  (' .. note .. ')' or ''), group)
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

---The line of the row about a file; nil if there is none.
local function line_of(file)
  for index, row in ipairs(panel.rows) do
    if row[3] and row[3].file and row[3].file.uri == file.uri then
      return index
    end
  end
end

local function draw()
  if not (panel.buf and api.nvim_buf_is_valid(panel.buf)) then
    return
  end
  local files = {} -- by window: the file at its cursor
  for _, window in ipairs(vim.fn.win_findbuf(panel.buf)) do
    local row = panel.rows[api.nvim_win_get_cursor(window)[1]]
    files[window] = row and row[3] and row[3].file
  end
  panel.rows = panel_rows(S.sessions[S.current or ''])
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
    elseif files[window] and line_of(files[window]) then
      -- the cursor stays on its file, which the next key is meant for
      api.nvim_win_set_cursor(window, { line_of(files[window]), 0 })
    end
  end
end

local drawing = false

function M.redraw()
  if not drawing then
    drawing = true
    vim.defer_fn(function()
      drawing = false
      draw()
      vim.cmd('redrawstatus!')
    end, 30)
  end
end

---Opens the panel beside the other windows; the focus stays where it is.
function M.open()
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
    vim.wo[window][0][name] = value
  end
end

---What the line under the cursor of the panel is about; nil elsewhere.
function M.row()
  local row = M.is_current() and panel.rows[api.nvim_win_get_cursor(0)[1]]
  return row and row[3]
end

function M.is_current()
  return api.nvim_get_current_buf() == panel.buf
end

return M
