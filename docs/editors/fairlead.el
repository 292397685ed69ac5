;;; fairlead.el --- Fairlead, the coding agent, through eglot  -*- lexical-binding: t; -*-

;; For Emacs 28 with eglot 1.9, or newer.  Put this file on the `load-path' and
;;
;;   (require 'fairlead)
;;   (setq fairlead-command '("/path/to/fairlead/.venv/bin/fairlead" "serve"))
;;
;; into the init file.  docs/editors.md explains the commands and keys.

;;; Code:

(require 'cl-lib)
(require 'eglot)
(require 'project)
(require 'text-property-search)

(defgroup fairlead nil "The coding agent Fairlead." :group 'tools)

(defcustom fairlead-command '("fairlead" "serve")
  "The program that starts the server, with its arguments."
  :type '(repeat string))

(defcustom fairlead-settings nil
  "The settings as a plist, as in docs/protocol.md: (:model \"...\" :bash (:allow [\"make *\"]))."
  :type 'plist)

(defclass fairlead-server (eglot-lsp-server) ()
  :documentation "The connection to one server, for one project.")

(cl-defstruct (fairlead-session (:constructor fairlead--make-session))
  id server plan edits running (log ""))

(defvar fairlead--sessions (make-hash-table :test #'equal) "All sessions by their id.")
(defvar fairlead--current nil "The session that the panel shows.")
(defvar fairlead--wants-new nil "Whether the next task begins a new session.")

;;; The server

(cl-defmethod eglot-client-capabilities ((_server fairlead-server))
  "What eglot can do, and that this file asks for approvals and answers."
  (plist-put (copy-sequence (cl-call-next-method)) :experimental '(:agent (:approvals t :questions t))))

(cl-defmethod eglot-initialization-options ((server fairlead-server))
  "The settings, and where sessions of the SERVER's project are saved."
  (let ((root (expand-file-name (project-root (eglot--project server)))))
    (list :settings (or fairlead-settings eglot--{})
          :storageDir (expand-file-name (concat "fairlead/" (substring (sha1 root) 0 16)) user-emacs-directory))))

(defun fairlead--start ()
  "Returns the server of this project, and starts it if it does not run yet."
  (let ((running (or (and fairlead--current (fairlead-session-server fairlead--current)) (eglot-current-server))))
    (cond
     ((and (cl-typep running 'fairlead-server) (jsonrpc-running-p running)) running)
     ((eglot-current-server)
      (user-error "Another language server manages this buffer, and eglot allows one (see docs/editors.md)"))
     ((not buffer-file-name) (user-error "Visit a file of the project first"))
     (t (let ((eglot-server-programs `((,major-mode . (fairlead-server ,@fairlead-command)))) (eglot-sync-connect t))
          (apply #'eglot (eglot--guess-contact))
          (eglot-current-server))))))

(defun fairlead--session (server id)
  "The session with this ID on SERVER, which may have been started again; made where it is new."
  (let ((session (or (gethash id fairlead--sessions)
                     (puthash id (fairlead--make-session :id id :server server) fairlead--sessions))))
    (setf (fairlead-session-server session) server)
    (unless fairlead--wants-new (setq fairlead--current (or fairlead--current session)))
    session))

(defun fairlead--need-session ()
  "The current session, or an error that says what to do."
  (or fairlead--current (user-error "There is no session yet; start with M-x fairlead-run")))

;;; What the server says and asks

(cl-defmethod eglot-handle-notification ((server fairlead-server) (_method (eql agent/plan)) &rest plan)
  "Draws the PLAN of a session of SERVER."
  (setf (fairlead-session-plan (fairlead--session server (plist-get plan :sessionId))) plan)
  (fairlead--draw))

(cl-defmethod eglot-handle-notification ((server fairlead-server) (_method (eql agent/edits)) &rest edits)
  "Draws the proposed EDITS of a session of SERVER."
  (setf (fairlead-session-edits (fairlead--session server (plist-get edits :sessionId))) edits)
  (fairlead--draw))

(cl-defmethod eglot-handle-notification ((server fairlead-server) (_method (eql agent/event)) &rest event)
  "Adds an EVENT of SERVER to the conversation."
  (let ((session (fairlead--session server (plist-get event :sessionId))))
    (pcase (plist-get event :kind)
      ("run_started" (setf (fairlead-session-running session) t fairlead--current session fairlead--wants-new nil))
      ("run_finished" (setf (fairlead-session-running session) nil))
      ("text" (fairlead--say session (plist-get event :text)))
      ("tool_started" (fairlead--say-line session (concat "> " (plist-get event :title)))))
    (fairlead--draw)))

(cl-defmethod eglot-handle-request ((_server fairlead-server) (_method (eql agent/approve)) &rest params)
  "Asks whether a command may run; PARAMS are those of `agent/approve'.  Only a choice allows it."
  (let* ((what (or (plist-get params :command) (eglot--uri-to-path (plist-get params :uri))))
         (choices '(("Reject" . "reject") ("Allow once" . "allow_once") ("Allow for this session" . "allow_session")))
         (prompt (format "%s\n%s\nFairlead asks: " (mapconcat #'identity (plist-get params :reasons) "\n") what))
         (choice (with-local-quit (completing-read prompt choices nil t))))
    (list :option (or (cdr (assoc choice choices)) "reject"))))

(cl-defmethod eglot-handle-request ((server fairlead-server) (_method (eql agent/ask)) &rest params)
  "Asks the question in PARAMS; any text is an answer."
  (let ((answer (with-local-quit
                  (completing-read (concat (plist-get params :question) " ") (append (plist-get params :options) nil)))))
    (fairlead--say-line (fairlead--session server (plist-get params :sessionId)) (concat "You: " answer))
    (list :answer (and answer (not (string-empty-p answer)) answer))))

(cl-defmethod eglot-handle-request :around ((_server fairlead-server) (_method (eql workspace/applyEdit)) &key edit &allow-other-keys)
  "Makes the EDIT without a second question, and saves buffers without changes of the user."
  (let* ((changes (append (plist-get edit :documentChanges) nil))
         (paths (mapcar (lambda (change) (eglot--uri-to-path (plist-get (plist-get change :textDocument) :uri))) changes))
         (buffers (delq nil (mapcar #'find-buffer-visiting paths)))
         (saved (cl-remove-if #'buffer-modified-p buffers))
         (eglot-confirm-server-initiated-edits nil))
    (prog1 (cl-call-next-method)
      (fairlead--send-changes buffers)
      (dolist (buffer saved)
        (with-current-buffer buffer (save-buffer))))))

(defun fairlead--send-changes (buffers)
  "Sends what changed in BUFFERS now: eglot waits until Emacs is idle, and Fairlead for the changes."
  (dolist (buffer buffers)
    (with-current-buffer buffer
      (when (eglot-managed-p) (eglot--signal-textDocument/didChange)))))

(defun fairlead--say (session text)
  "Adds TEXT to the conversation of SESSION."
  (setf (fairlead-session-log session) (concat (fairlead-session-log session) text)))

(defun fairlead--say-line (session text)
  "Adds TEXT to the conversation of SESSION, as a line."
  (let ((log (fairlead-session-log session)))
    (fairlead--say session (concat (if (string-match-p "\\(\\`\\|\n\\)\\'" log) "" "\n") text "\n"))))

;;; The panel

(defvar fairlead-mode-map
  (let ((map (make-sparse-keymap)))
    (dolist (key '(("RET" . fairlead-diff) ("a" . fairlead-accept) ("x" . fairlead-reject) ("A" . fairlead-accept-all)
                   ("X" . fairlead-reject-all) ("u" . fairlead-undo) ("i" . fairlead-run) ("s" . fairlead-stop)))
      (define-key map (kbd (car key)) (cdr key)))
    map)
  "Keys of the panel.")

(define-derived-mode fairlead-mode special-mode "Fairlead"
  "The plan, the changes to review and the conversation."
  (setq header-line-format " RET diff  a accept  x reject  A all  u undo  i task  s stop")
  (visual-line-mode))

(defun fairlead--row (text &optional face file)
  "Inserts a line of TEXT with a FACE; keys on it are about FILE."
  (insert (propertize (concat text "\n") 'face face 'fairlead-file file)))

(defun fairlead--active-text (item)
  "The text of a plan ITEM in progress; the model may leave out its active form."
  (let ((active (plist-get item :activeForm)))
    (if (string-empty-p active) (plist-get item :content) active)))

(defun fairlead--draw-plan (session)
  "Inserts the plan of SESSION."
  (let ((plan (fairlead-session-plan session)))
    (fairlead--row (format "Plan  %d/%d%s" (or (plist-get plan :completed) 0) (or (plist-get plan :total) 0)
                           (if (fairlead-session-running session) "  working" ""))
                   'bold)
    (seq-doseq (item (plist-get plan :items))
      (pcase (plist-get item :status)
        ("completed" (fairlead--row (concat "  ✓ " (plist-get item :content)) 'shadow))
        ("in_progress" (fairlead--row (concat "  ▶ " (fairlead--active-text item)) 'success))
        (_ (fairlead--row (concat "  ○ " (plist-get item :content))))))))

(defun fairlead--draw-files (session)
  "Inserts the files of SESSION with something to review."
  (let ((files (plist-get (fairlead-session-edits session) :files)))
    (fairlead--row (format "\nChanges to review  %d" (length files)) 'bold)
    (seq-doseq (file files)
      (fairlead--row (format "  %s  +%d -%d  %s%s" (file-name-nondirectory (eglot--uri-to-path (plist-get file :uri)))
                             (plist-get file :additions) (plist-get file :deletions) (plist-get file :kind)
                             (if (equal (plist-get file :state) "conflict") ", conflict" ""))
                     nil file))))

(defun fairlead--draw ()
  "Draws the panel, if there is one."
  (when-let ((buffer (get-buffer "*fairlead*")) (session fairlead--current))
    (with-current-buffer buffer
      (let ((inhibit-read-only t) (line (line-number-at-pos)) (file (get-text-property (point) 'fairlead-file)))
        (erase-buffer)
        (fairlead--draw-plan session)
        (fairlead--draw-files session)
        (fairlead--row "\nConversation" 'bold)
        (insert (fairlead-session-log session))
        (goto-char (point-min))
        (unless (and file (fairlead--goto-file (plist-get file :uri)))
          (forward-line (1- line)))))))

(defun fairlead--goto-file (uri)
  "Moves to the row of the file at URI, which the next key is meant for; nil if there is none."
  (let ((row (save-excursion
               (text-property-search-forward 'fairlead-file uri (lambda (uri file) (equal uri (plist-get file :uri)))))))
    (when row (goto-char (prop-match-beginning row)))))

;;;###autoload
(defun fairlead ()
  "Shows the panel."
  (interactive)
  (fairlead--start)
  (with-current-buffer (get-buffer-create "*fairlead*")
    (unless (derived-mode-p 'fairlead-mode) (fairlead-mode))
    (display-buffer (current-buffer) '(display-buffer-in-side-window (side . right) (window-width . 0.35))))
  (fairlead--draw))

;;; The commands

(defun fairlead--request (method params)
  "Asks the server of the current session for METHOD with PARAMS, whatever time it takes."
  (jsonrpc-request (fairlead-session-server (fairlead--need-session)) method params :timeout nil))

;;;###autoload
(defun fairlead-run (prompt)
  "Gives the agent the task PROMPT, or says PROMPT to the agent at work."
  (interactive "sFairlead, do: ")
  (let* ((server (fairlead--start))
         (session fairlead--current)
         (id (and session (fairlead-session-id session)))
         (steers (and session (fairlead-session-running session))))
    (fairlead)
    (eglot-execute-command server (if steers "fairlead.server.steer" "fairlead.server.runTask")
                           (vector `(,(if steers :text :prompt) ,prompt ,@(and id `(:sessionId ,id)))))))

(defun fairlead-new ()
  "The next task begins a new session."
  (interactive)
  (setq fairlead--current nil fairlead--wants-new t))

(defun fairlead-stop ()
  "Stops the run."
  (interactive)
  (fairlead--request :agent/cancel (list :sessionId (fairlead-session-id (fairlead--need-session)))))

(defun fairlead--review (method params)
  "Decides by METHOD with PARAMS, shows what did not work, and reads changed files again."
  (fairlead--send-changes (eglot--managed-buffers (fairlead-session-server (fairlead--need-session))))
  (let ((result (fairlead--request method `(:sessionId ,(fairlead-session-id (fairlead--need-session)) ,@params))))
    (seq-doseq (outcome (plist-get result :outcomes))
      (unless (string-empty-p (plist-get outcome :message))
        (message "Fairlead: %s" (plist-get outcome :message))))
    (dolist (buffer (buffer-list))
      (with-current-buffer buffer
        (when (and buffer-file-name (not (buffer-modified-p)) (not (verify-visited-file-modtime buffer))
                   (file-exists-p buffer-file-name))
          (revert-buffer t t t))))))

(defun fairlead--at-point (command)
  "The params of the server's COMMAND for the change at point."
  (let* ((place (eglot--pos-to-lsp-position))
         (actions (fairlead--request :textDocument/codeAction
                                     `(:textDocument ,(eglot--TextDocumentIdentifier) :range (:start ,place :end ,place)
                                       :context (:diagnostics []))))
         (found (seq-find (lambda (action) (equal (plist-get (plist-get action :command) :command) command)) actions)))
    (unless found (user-error "There is no proposed change at point"))
    (cddr (cl-loop for (key value) on (elt (plist-get (plist-get found :command) :arguments) 0) by #'cddr
                   if (eq key :sessionId) append (list key value) into first
                   else append (list key value) into rest
                   finally return (append first rest)))))

(defun fairlead--decide (method command)
  "Decides by METHOD, or COMMAND of the server, on the file of the panel's line or the change at point."
  (let ((file (get-text-property (point) 'fairlead-file)))
    (fairlead--review method (cond (file (list :target (list :uri (plist-get file :uri))))
                                   ((derived-mode-p 'fairlead-mode) (user-error "There is no file on this line"))
                                   (t (fairlead--at-point command))))))

(defun fairlead-accept ()
  "Accepts the change at point, or in the panel the file on this line."
  (interactive)
  (fairlead--decide :agent/edits/accept "fairlead.server.accept"))

(defun fairlead-reject ()
  "Rejects the change at point, or in the panel the file on this line."
  (interactive)
  (fairlead--decide :agent/edits/reject "fairlead.server.reject"))

(defun fairlead-accept-all ()
  "Accepts everything that is proposed."
  (interactive)
  (fairlead--review :agent/edits/accept '(:target (:all t))))

(defun fairlead-reject-all ()
  "Rejects everything that is proposed."
  (interactive)
  (fairlead--review :agent/edits/reject '(:target (:all t))))

(defun fairlead-undo ()
  "Undoes the last decision."
  (interactive)
  (fairlead--review :agent/edits/undo nil))

(defun fairlead-diff ()
  "Shows what is proposed for the file on the panel's line, or for this buffer's file, as a diff."
  (interactive)
  (let* ((session (fairlead--need-session))
         (file (get-text-property (point) 'fairlead-file))
         (uri (cond (file (plist-get file :uri))
                    (buffer-file-name (plist-get (eglot--TextDocumentIdentifier) :uri))
                    (t (user-error "There is no file on this line")))))
    (cl-flet ((side (name)
                (let ((text (plist-get (fairlead--request :workspace/textDocumentContent
                                                          (list :uri (concat "fairlead-" name "://" (fairlead-session-id session)
                                                                             (string-remove-prefix "file://" uri))))
                                       :text)))
                  (with-current-buffer (get-buffer-create (format " *fairlead %s*" name))
                    (erase-buffer)
                    (insert text)
                    (current-buffer)))))
      (diff-buffers (side "base") (side "proposed")))))

(provide 'fairlead)
;;; fairlead.el ends here
