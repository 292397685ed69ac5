-- What the server says and asks.

local S = require('fairlead.state')
local diff = require('fairlead.diff')
local panel = require('fairlead.panel')

local api, lsp = vim.api, vim.lsp

local function withdraw(session, matches)
  for _, question in ipairs(vim.tbl_filter(matches, session.questions)) do
    question.answer(nil)
  end
end

local EVENTS = {
  run_started = function(session, event)
    session.running, session.model, S.current = true, event.model, session.id
  end,
  prompt = function(session, event) S.add_line(session, '> ' .. event.text) end,
  text = function(session, event) S.append(session, event.text) end,
  tool_started = function(session, event) S.add_line(session, '› ' .. event.title) end,
  tool_finished = function(session, event)
    withdraw(session, function(question) return question.call == event.toolCallId end)
    if event.isError then
      S.add_line(session, '  ' .. vim.split(event.text, '\n')[1])
    end
  end,
  command_ended = function(session, event)
    S.add_line(session, ('  %s, %.1f s'):format(event.exitCode and 'exit code ' .. event.exitCode or event.ended, event.seconds))
  end,
  steered = function(session, event) S.add_line(session, '> ' .. event.text) end,
  retry = function(session, event) S.add_line(session, '  trying again: ' .. event.reason) end,
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
    panel.redraw()
    vim.schedule(function() coroutine.resume(waiting, value) end)
  end
  table.insert(session.questions, question)
  panel.redraw()
  S.warn('waits for you (:Fairlead answer): ' .. question.title)
  return coroutine.yield()
end

local APPROVALS = { allow_once = 'Allow once', allow_session = 'Allow for this session', reject = 'Reject' }

local HANDLERS = {
  ['agent/plan'] = function(_, plan, context)
    S.session_for(plan.sessionId, context.client_id).plan = plan
    panel.redraw()
  end,
  ['agent/edits'] = function(_, edits, context)
    local session = S.session_for(edits.sessionId, context.client_id)
    session.edits = edits
    diff.refresh(session)
    panel.redraw()
  end,
  ['agent/event'] = function(_, event, context)
    local session = S.session_for(event.sessionId, context.client_id)
    local on_event = EVENTS[event.kind]
    if on_event then
      on_event(session, event)
      panel.redraw()
    end
  end,
  ['agent/approve'] = function(_, params, context)
    local what = params.kind == 'command' and params.command or vim.uri_to_fname(params.uri)
    local option = wait(S.session_for(params.sessionId, context.client_id), {
      title = what,
      text = vim.fn.strtrans(what) .. '\n' .. table.concat(params.reasons, '\n'),
      options = { 'allow_once', 'allow_session', 'reject' },
      label = function(each) return APPROVALS[each] end,
      call = params.toolCallId,
    })
    return { option = option or 'reject' }
  end,
  ['agent/ask'] = function(_, params, context)
    local answer = wait(S.session_for(params.sessionId, context.client_id), {
      title = params.question,
      text = params.question,
      options = vim.list_extend(vim.list_slice(params.options), { '' }),
      label = function(each) return each == '' and 'Another answer' or each end,
      call = params.toolCallId,
    })
    if answer then
      S.add_line(S.session_for(params.sessionId, context.client_id), '> ' .. answer)
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

return HANDLERS
