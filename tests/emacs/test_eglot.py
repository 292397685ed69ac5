"""A real Emacs in batch with docs/editors/fairlead.el: eglot runs a task, and the user's decisions reach the files.

`npm run test:emacs` runs these where Emacs is installed, with its own eglot or Debian's `elpa-eglot`.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.timeout(300)
CONFIGURATION = Path(__file__).parents[2] / "docs/editors"
PRELUDE = """
(require 'package)
(package-initialize)
(unless (require 'eglot nil t) (kill-emacs 77))
(add-to-list 'load-path (getenv "CONFIGURATION"))
(require 'fairlead)
(setq fairlead-command (list (getenv "PYTHON") "-m" "fairlead" "serve")
      fairlead-settings (list :replay (getenv "REPLAY"))
      make-backup-files nil create-lockfiles nil)
(defun until (condition)
  (with-timeout (60 (error "never: %S\\n%s" condition (panel)))
    (while (not (eval condition t)) (accept-process-output nil 0.01))))
(defun panel ()
  (if (get-buffer "*fairlead*") (with-current-buffer "*fairlead*" (buffer-string)) ""))
(defun shows (text) (string-match-p (regexp-quote text) (panel)))
(defun visit (name) (set-buffer (find-file-noselect (expand-file-name name (getenv "WORKSPACE")))))
(defun on-line (text)
  (set-buffer "*fairlead*")
  (goto-char (point-min))
  (search-forward text)
  (beginning-of-line))
(defun run () (fairlead-run "Do it.") (until '(shows "Done.")) (until '(not (shows "working"))))
"""

Emacs = Callable[..., None]


@pytest.fixture
def emacs(workspace: Path, replay: Callable[..., dict[str, Any]]) -> Emacs:
    """A function that runs an Emacs script in a workspace, with a model that plays the given turns.

    It fails if the script fails, and skips the test if Emacs or eglot is not installed.
    """
    program = shutil.which("emacs")
    if program is None:
        pytest.skip("Emacs is not installed")
    subprocess.run(["git", "init", "-q", workspace], check=True)

    def run(script: str, *turns: dict[str, Any]) -> None:
        path = workspace.parent / "script.el"
        path.write_text(PRELUDE + script)
        names = {
            "CONFIGURATION": str(CONFIGURATION),
            "PYTHON": sys.executable,
            "REPLAY": replay(*turns)["replay"],
            "WORKSPACE": str(workspace),
        }
        command = [program, "--batch", "-l", str(path)]
        ended = subprocess.run(
            command, env={**os.environ, **names}, capture_output=True, text=True, timeout=240, check=False
        )
        if ended.returncode == 77:
            pytest.skip("this Emacs has no eglot")
        assert ended.returncode == 0, ended.stderr

    return run


BEFORE = {"a.py": b"one = 1\ntwo = 2\n", "old.py": b"moved\n", "gone.py": b"gone\n"}
AFTER = {"a.py": b"one = 1\ntwo = 22\n", "new.py": b"moved\n", "made.py": b"made\n"}
PLAN = {"todo": {"items": [{"content": "Change it", "status": "in_progress", "activeForm": "Changing it"}]}}
CALLS: list[dict[str, Any]] = [
    PLAN,
    {"edit_file": {"path": "a.py", "old_text": "two = 2", "new_text": "two = 22"}},
    {"rename_file": {"path": "old.py", "new_path": "new.py"}},
    {"delete_file": {"path": "gone.py"}},
    {"write_file": {"path": "made.py", "content": "made\n"}},
]
TURNS = ({"calls": CALLS}, {"text": "Done."})


@pytest.fixture
def files(workspace: Path) -> Callable[[], dict[str, bytes]]:
    """Writes the files of `BEFORE`. Returns a function that reads all files of the workspace."""
    for name, data in BEFORE.items():
        (workspace / name).write_bytes(data)
    return lambda: {path.name: path.read_bytes() for path in workspace.iterdir() if path.is_file()}


def test_a_task_is_seen_and_accepted(emacs: Emacs, files: Callable[[], dict[str, bytes]]) -> None:
    """The panel shows the plan and the changes. An accept applies all four kinds of change, even in a visited file."""
    emacs(
        """
        (visit "a.py")
        (run)
        (until '(shows "Plan  0/1"))
        (until '(shows "▶ Changing it"))
        (until '(shows "Changes to review  4"))
        (fairlead-accept-all)
        (until '(shows "Changes to review  0"))
        (visit "a.py")
        (unless (equal (buffer-string) "one = 1\\ntwo = 22\\n") (error "a.py: %s" (buffer-string)))
        (when (buffer-modified-p) (error "a.py is not saved"))
        """,
        *TURNS,
    )
    assert files() == AFTER


def test_a_step_without_an_active_form_shows_its_content(emacs: Emacs, workspace: Path) -> None:
    """The row of a step in progress is never empty."""
    (workspace / "a.py").write_text("one = 1\n")
    plan = {"todo": {"items": [{"content": "Change it", "status": "in_progress"}]}}
    emacs(
        """
        (visit "a.py")
        (run)
        (until '(shows "▶ Change it"))
        """,
        {"calls": [plan]},
        {"text": "Done."},
    )


def test_the_cursor_of_the_panel_stays_on_its_file(emacs: Emacs, workspace: Path) -> None:
    """When the plan grows, `a` still accepts the file that point was on."""
    for name in ("a.py", "b.py"):
        (workspace / name).write_text("one = 1\n")
    items = PLAN["todo"]["items"]
    edits = [{"edit_file": {"path": name, "old_text": "1", "new_text": "2"}} for name in ("a.py", "b.py")]
    emacs(
        """
        (visit "a.py")
        (run)
        (on-line "b.py")
        (fairlead-run "Plan it.")
        (until '(shows "Planned."))
        (until '(shows "Check it"))
        (set-buffer "*fairlead*")
        (fairlead-accept)
        (until '(shows "Changes to review  1"))
        """,
        {"calls": [PLAN, *edits]},
        {"text": "Done."},
        {"calls": [{"todo": {"items": [*items, {"content": "Check it", "status": "pending"}]}}]},
        {"text": "Planned."},
    )
    assert (workspace / "a.py").read_text() == "one = 1\n"
    assert (workspace / "b.py").read_text() == "one = 2\n"


def test_an_accept_can_be_undone(emacs: Emacs, files: Callable[[], dict[str, bytes]]) -> None:
    """An undo restores every byte, and rejecting the changes afterwards writes to no file."""
    emacs(
        """
        (visit "a.py")
        (run)
        (fairlead-accept-all)
        (until '(shows "Changes to review  0"))
        (fairlead-undo)
        (until '(shows "Changes to review  4"))
        (on-line "gone.py")
        (fairlead-reject)
        (until '(shows "Changes to review  3"))
        (fairlead-reject-all)
        (until '(shows "Changes to review  0"))
        """,
        *TURNS,
    )
    assert files() == BEFORE


def test_unsaved_text_stays_unsaved(emacs: Emacs, files: Callable[[], dict[str, bytes]]) -> None:
    """After a file is accepted in the panel, the text that the user typed in it is still there, and is not saved."""
    emacs(
        """
        (visit "a.py")
        (run)
        (visit "a.py")
        (goto-char (point-max))
        (insert "mine = 3\\n")
        (on-line "a.py")
        (fairlead-accept)
        (until '(shows "Changes to review  3"))
        (visit "a.py")
        (unless (equal (buffer-string) "one = 1\\ntwo = 22\\nmine = 3\\n") (error "a.py: %s" (buffer-string)))
        (unless (buffer-modified-p) (error "a.py was saved"))
        (set-buffer-modified-p nil)
        """,
        *TURNS,
    )
    assert files() == BEFORE


def test_nothing_runs_before_the_user_allows_it(emacs: Emacs, workspace: Path) -> None:
    """The minibuffer asks for approval; Enter without a choice does not allow the command."""
    (workspace / "a.py").write_text("one\n")
    asks = [{"bash": {"command": f"echo {word} >> made.txt", "unsandboxed": True}} for word in ("one", "two")]
    emacs(
        """
        (visit "a.py")
        (setq answers '("" "Allow once"))
        (cl-letf (((symbol-function 'completing-read) (lambda (&rest _) (pop answers))))
          (run))
        """,
        {"calls": asks},
        {"text": "Done."},
    )
    assert (workspace / "made.txt").read_text() == "two\n"


def test_a_proposal_is_seen_as_a_diff(emacs: Emacs, files: Callable[[], dict[str, bytes]]) -> None:
    """The diff of a file in the panel shows the old and the proposed line."""
    emacs(
        """
        (visit "a.py")
        (run)
        (on-line "a.py")
        (fairlead-diff)
        (let ((diff "*Diff*"))
          (until '(with-current-buffer "*Diff*" (string-match-p "^-two = 2\\n\\\\+two = 22" (buffer-string)))))
        """,
        *TURNS,
    )
    assert files() == BEFORE


def test_the_change_at_point_is_decided(emacs: Emacs, workspace: Path) -> None:
    """In a file, `fairlead-accept` and `fairlead-reject` apply only to the change at point, and fail without one."""
    lines = [f"line {number}\n" for number in range(1, 31)]
    (workspace / "a.py").write_text("".join(lines))
    edits = [
        {"edit_file": {"path": "a.py", "old_text": f"line {number}\n", "new_text": f"LINE {number}\n"}}
        for number in (2, 15, 29)
    ]
    emacs(
        """
        (visit "a.py")
        (run)
        (until '(shows "+3 -3"))
        (visit "a.py")
        (goto-char (point-min))
        (forward-line 14)
        (fairlead-accept)
        (until '(shows "+2 -2"))
        (visit "a.py")
        (goto-char (point-min))
        (forward-line 1)
        (fairlead-reject)
        (until '(shows "+1 -1"))
        (visit "a.py")
        (goto-char (point-min))
        (forward-line 7)
        (unless (condition-case nil (progn (fairlead-accept) nil) (user-error t)) (error "there is no change"))
        """,
        {"calls": edits},
        {"text": "Done."},
    )
    lines[14] = "LINE 15\n"
    assert (workspace / "a.py").read_text() == "".join(lines)


def test_eglot_works_without_the_configuration(emacs: Emacs, workspace: Path) -> None:
    """With eglot's own commands, a task runs, a code action changes the visited file, and undo and redo work.

    Enter does not allow a command, although eglot 1.9 preselects the first choice.
    """
    (workspace / "a.py").write_text("one\n")
    emacs(
        """
        (setq shown nil)
        (advice-add 'eglot--message :before (lambda (&rest arguments) (push (apply #'format arguments) shown)))
        (advice-add 'y-or-n-p :override (lambda (&rest _) t))
        (advice-add 'completing-read :override ; the user presses Enter, or chooses the code action that accepts
                    (lambda (_ choices _ _ entered &rest _)
                      (or entered (seq-find (lambda (each) (string-match-p "Accept" each)) (mapcar #'car choices)))))
        (visit "a.py")
        (let* ((contact `(,@fairlead-command :initializationOptions (:settings ,fairlead-settings)))
               (eglot-server-programs `((python-mode . ,contact)))
               (eglot-sync-connect t))
          (apply #'eglot (eglot--guess-contact)))
        (eglot-execute-command (eglot-current-server) "fairlead.server.runTask" [(:prompt "Do it.")])
        (until '(seq-some (lambda (text) (string-match-p "end_turn" text)) shown))
        (goto-char (point-min))
        (let ((last-nonmenu-event ?x)) (eglot-code-actions (point) nil nil t))
        (unless (equal (buffer-string) "two\n") (error "a.py: %s" (buffer-string)))
        (save-buffer) ; eglot reports the change now, or when Emacs is idle
        (setq session (plist-get (aref (plist-get (jsonrpc-request (eglot-current-server) :workspace/executeCommand
          '(:command "fairlead.server.sessions" :arguments [])) :sessions) 0) :sessionId))
        (cl-flet ((by-command (name) (eglot-execute-command (eglot-current-server) name `[(:sessionId ,session)])))
          (by-command "fairlead.server.undo")
          (unless (equal (buffer-string) "one\n") (error "after undo: %s" (buffer-string)))
          (save-buffer)
          (by-command "fairlead.server.redo")
          (unless (equal (buffer-string) "two\n") (error "after redo: %s" (buffer-string)))
          (save-buffer))
        (when (seq-some (lambda (text) (string-match-p "says that it changed" text)) shown) (error "%S" shown))
        """,
        {
            "calls": [
                {"edit_file": {"path": "a.py", "old_text": "one", "new_text": "two"}},
                {"bash": {"command": "echo made > made.txt", "unsandboxed": True}},
            ]
        },
        {"text": "Done."},
    )
    assert (workspace / "a.py").read_text() == "two\n"
    assert not (workspace / "made.txt").exists()
