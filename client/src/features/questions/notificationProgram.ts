// The programs that show notifications of the operating system. Pure.

/** A program to start, without a shell. */
export interface NotificationProgram {
  readonly file: string;
  readonly args: readonly string[];
  /** Environment variables in addition to those of this process. */
  readonly env: Readonly<Record<string, string>>;
}

const APPLE_SCRIPT = ["on run argv", 'display notification (item 1 of argv) with title "Fairlead"', "end run"];
/**
 * The script reads the text from an environment variable, so that no part of the text runs as code. A toast needs the
 * identity of an application that Windows knows.
 */
const POWERSHELL_SCRIPT = `
$manager = [Windows.UI.Notifications.ToastNotificationManager, Windows.UI.Notifications, ContentType = WindowsRuntime]
$toast = $manager::GetTemplateContent([Windows.UI.Notifications.ToastTemplateType]::ToastText01)
[void]$toast.GetElementsByTagName("text").Item(0).AppendChild($toast.CreateTextNode($env:FAIRLEAD_NOTIFICATION))
$application = "{1AC14E77-02E7-4E5D-B744-2EB1AE5198B7}\\WindowsPowerShell\\v1.0\\powershell.exe"
$manager::CreateToastNotifier($application).Show([Windows.UI.Notifications.ToastNotification]::new($toast))`;

/**
 * The program that shows `text`: the user's own, with the text as its last argument, or else that of the operating
 * system. Undefined if the platform has none.
 */
export function notificationProgram(
  text: string,
  platform: string,
  own: readonly string[],
): NotificationProgram | undefined {
  const [file, ...args] = own;
  if (file !== undefined) return { file, args: [...args, text], env: {} };
  switch (platform) {
    case "linux": // the text is the summary, because some desktops read the body as markup
      return { file: "notify-send", args: ["--app-name=Fairlead", "--", text], env: {} };
    case "darwin":
      return { file: "osascript", args: [...APPLE_SCRIPT.flatMap((line) => ["-e", line]), text], env: {} };
    case "win32":
      return {
        file: "powershell.exe",
        args: ["-NoProfile", "-NonInteractive", "-Command", POWERSHELL_SCRIPT],
        env: { FAIRLEAD_NOTIFICATION: text },
      };
    default:
      return undefined;
  }
}
