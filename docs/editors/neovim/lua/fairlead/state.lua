-- What is known of the sessions of all servers, and requests about them.

local M = {}

local api, lsp = vim.api, vim.lsp

---@class Session
---@field id string
---@field client integer
---@field plan table? the last `agent/plan`
---@field edits table? the last `agent/edits`
---@field running boolean
---@field model string
---@field log string[] the conversation, line by line
---@field questions table[] approvals and questions that wait for the user

M.sessions = {} ---@type table<string, Session>
M.current = nil ---@type string|false|nil the session that the panel shows; false: the next task begins a new one

local LOG_LINES = 500

function M.say(text, level)
  -- one short line: a longer one stops the user with "Press ENTER"
  local line = vim.split(text, '\n')[1]
  vim.notify('Fairlead: ' .. vim.fn.strcharpart(line, 0, math.max(20, vim.o.columns - 25)), level or vim.log.levels.INFO)
end

function M.warn(text)
  M.say(text, vim.log.levels.WARN)
end

---Sends a request to the server of a session; errors are shown, results go to `done`.
function M.request(client, method, params, done)
  client:request(method, params, function(error, result)
    if error then
      M.warn(error.message)
    elseif done then
      done(result)
    end
  end)
end

function M.path_of(session, uri)
  local path = vim.uri_to_fname(uri)
  local client = lsp.get_client_by_id(session.client)
  return client and vim.fs.relpath(client.root_dir, path) or path
end

function M.proposed_name(session, file, scheme)
  return (file.uri:gsub('^file://', (scheme or 'fairlead-proposed') .. '://' .. session.id))
end

function M.session_of(name)
  return M.sessions[name:match('^fairlead%-%a+://(%w+)/') or '']
end

function M.session_for(id, client)
  M.sessions[id] = M.sessions[id]
    or { id = id, client = client, running = false, model = '', log = {}, questions = {} }
  if M.current == nil then
    M.current = id
  end
  return M.sessions[id]
end

function M.current_session()
  local session = M.session_of(api.nvim_buf_get_name(0)) or M.sessions[M.current or '']
  if not session then
    M.warn('nothing to do yet; start with :Fairlead run')
  end
  return session
end

function M.client_of(session)
  return assert(lsp.get_client_by_id(session.client), 'the server of this session has ended')
end

function M.append(session, text)
  local lines = vim.split(text, '\n')
  local last = math.max(#session.log, 1)
  session.log[last] = (session.log[last] or '') .. lines[1]
  vim.list_extend(session.log, lines, 2)
  if #session.log > LOG_LINES then
    session.log = vim.list_slice(session.log, #session.log - LOG_LINES + 1)
  end
end

function M.add_line(session, text)
  local last = session.log[#session.log] or ''
  M.append(session, (last == '' and '' or '\n') .. text .. '\n')
end

return M
