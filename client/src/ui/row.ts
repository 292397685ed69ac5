// What a row of a tree shows. Pure.

export interface Row {
  readonly label: string;
  readonly description: string;
  readonly tooltip: string;
  /** The id of an icon of VS Code (a codicon). */
  readonly icon: string;
  /** The id of a theme color for the icon; undefined: the default. */
  readonly color: string | undefined;
  /** The text for screen readers. */
  readonly screenReaderLabel: string;
}

/** How a state looks, and its name in words. */
export interface Appearance {
  readonly icon: string;
  readonly color?: string;
  readonly word: string;
}
