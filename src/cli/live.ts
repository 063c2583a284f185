/**
 * The live line of a terminal. Invariants: the line stays one line in one place, other output appears above it, and
 * hiding it leaves nothing on the screen.
 */
import type { Ora } from 'ora';
import type { RenderLine } from './command.ts';

/** A line on the terminal that changes in place. */
export interface Live {
  show(render: RenderLine): void;
  hide(): void;
}

/**
 * The columns that are not available for text: the spinner, the blank after it, and the last column, since some
 * terminals wrap a line that reaches it.
 */
const FRAME_COLUMNS = 3;
/** The width to assume when the terminal does not report its own. */
const COLUMNS = 80;

export interface LiveOptions {
  readonly color: boolean;
  /** Whether the terminal wraps a line that no longer fits after a resize. Most terminals do. */
  readonly reflows: boolean;
}

export class LiveLine implements Live {
  readonly #stream: NodeJS.WriteStream;
  readonly #options: LiveOptions;
  readonly #onResize = (): void => this.#resize();
  #render: RenderLine | undefined;
  #spinner: Ora | undefined;
  #isLoading = false;

  constructor(stream: NodeJS.WriteStream, options: LiveOptions) {
    this.#stream = stream;
    this.#options = options;
  }

  show(render: RenderLine): void {
    const isFirst = this.#render === undefined;
    this.#render = render;
    if (isFirst) this.#stream.on('resize', this.#onResize);
    if (this.#spinner !== undefined) this.#draw();
    else if (!this.#isLoading) {
      this.#isLoading = true;
      // Not awaited: the command need not wait until the line appears.
      void this.#load();
    }
  }

  hide(): void {
    this.#render = undefined;
    this.#stream.off('resize', this.#onResize);
    this.#spinner?.stop();
  }

  async #load(): Promise<void> {
    // Loaded on demand: most commands end before they show progress.
    const { default: ora } = await import('ora');
    this.#spinner = ora({
      stream: this.#stream,
      color: this.#options.color ? 'cyan' : false,
      // With true, ora would discard what the operator types ahead for the shell, and it would handle Ctrl-C, which
      // signals.ts handles.
      discardStdin: false,
      isEnabled: true,
    });
    this.#draw();
  }

  /**
   * Clears the rows that the line covers after a resize. The spinner itself clears one row, but the terminal may have
   * wrapped the line into several.
   */
  #resize(): void {
    const spinner = this.#spinner;
    if (this.#stream.columns === 0) return void spinner?.stop();
    if (spinner?.isSpinning === true && this.#options.reflows) {
      const rows = Math.ceil((FRAME_COLUMNS - 1 + spinner.text.length) / this.#columns);
      spinner.stop();
      for (let above = 1; above < rows; above += 1) {
        this.#stream.moveCursor(0, -1);
        this.#stream.clearLine(0);
      }
    }
    this.#draw();
  }

  get #columns(): number {
    return this.#stream.columns ?? COLUMNS;
  }

  #draw(): void {
    if (this.#render === undefined || this.#spinner === undefined) return;
    // A terminal may report a width of 0. The spinner would then have infinitely many rows to clear.
    if (this.#stream.columns === 0) return;
    this.#spinner.text = this.#render(Math.max(1, this.#columns - FRAME_COLUMNS));
    // A running spinner shows the new text with its next frame.
    if (!this.#spinner.isSpinning) this.#spinner.start();
  }
}
