-- The diff: the user's file on the left, the proposed text on the right, where it can also be changed.

local S = require('fairlead.state')

local M = {}

local api, lsp = vim.api, vim.lsp

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
function M.read_side(event)
  local session = S.session_of(event.match)
  local client = session and lsp.get_client_by_id(session.client)
  if not client then
    return S.warn('this session is not open')
  end
  vim.bo[event.buf].buftype, vim.bo[event.buf].swapfile = 'acwrite', false
  local answer = client:request_sync('workspace/textDocumentContent', { uri = event.match }, 5000)
  fill(event.buf, answer and answer.result and answer.result.text or 'The server did not answer.')
  vim.bo[event.buf].modifiable = vim.startswith(event.match, 'fairlead-proposed:')
  vim.bo[event.buf].filetype = vim.filetype.match({ filename = vim.uri_decode(event.match) }) or ''
end

---`BufWriteCmd`: the user changed the proposed text.
function M.write_side(event)
  local session = assert(S.session_of(event.match))
  local text = table.concat(api.nvim_buf_get_lines(event.buf, 0, -1, false), '\n')
  if vim.bo[event.buf].endofline and text ~= '' then
    text = text .. '\n'
  end
  local uri = event.match:gsub('^fairlead%-proposed://%w+', 'file://')
  vim.bo[event.buf].modified = false
  local client = assert(lsp.get_client_by_id(session.client))
  S.request(client, 'agent/edits/amend', { sessionId = session.id, uri = uri, text = text })
end

---Shows what is proposed for a file, in a tab of its own.
function M.show(session, file)
  local path = vim.uri_to_fname(file.uri)
  local left = file.kind == 'create' and S.proposed_name(session, file, 'fairlead-base') or path
  vim.cmd('tab split')
  vim.t.fairlead = S.proposed_name(session, file)
  for index, name in ipairs({ left, vim.t.fairlead }) do
    if index == 2 then
      vim.cmd('rightbelow vertical split')
    end
    local buf = vim.fn.bufadd(name)
    vim.bo[buf].buflisted = name == path
    api.nvim_win_set_buf(0, buf)
    vim.wo[0][0].winbar = index == 1 and '%#Removed# now %* ' .. S.path_of(session, file.uri):gsub('%%', '%%%%')
      or '%#Added# proposed %* :w proposes what you change here'
    vim.cmd.diffthis()
  end
  vim.cmd.normal({ 'gg', bang = true })
  -- `]c` leaves a change that begins in line 1, or lines that are missing above it
  if vim.fn.diff_hlID(1, 1) == 0 and vim.fn.diff_filler(1) == 0 then
    pcall(vim.cmd.normal, { ']c', bang = true })
  end
end

---The proposals changed: shown texts are read again, and the diff of what is decided closes.
function M.refresh(session)
  local pending = {}
  for _, file in ipairs(session.edits.files) do
    pending[S.proposed_name(session, file)] = true
  end
  for _, tab in ipairs(api.nvim_list_tabpages()) do
    local found, name = pcall(api.nvim_tabpage_get_var, tab, 'fairlead')
    if found and S.session_of(name) == session and not pending[name] and #api.nvim_list_tabpages() > 1 then
      vim.cmd('tabclose ' .. api.nvim_tabpage_get_number(tab))
    end
  end
  for _, buf in ipairs(api.nvim_list_bufs()) do
    local name = api.nvim_buf_get_name(buf)
    if S.session_of(name) == session and api.nvim_buf_is_loaded(buf) and not vim.bo[buf].modified then
      if not vim.startswith(name, 'fairlead-base:') and not pending[name] then
        api.nvim_buf_delete(buf, {})
      else
        S.request(lsp.get_client_by_id(session.client), 'workspace/textDocumentContent', { uri = name }, function(result)
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

return M
