/**
 * The live line of a terminal. Invariants: it stays one line in one place, other output goes above it, and hiding it leaves
 * nothing behind.
 */
import type { Ora } from 'ora';
import type { RenderLine } from './command.ts';

/** A line that changes in place. */
export interface Live {
  show(render: RenderLine): void;
  hide(): void;
}

/** The spinner and the blank after it, and the last column, which makes some terminals wrap. */
const FRAME_COLUMNS = 3;
/** For a terminal that does not report its width. */
const COLUMNS = 80;

export interface LiveOptions {
  readonly color: boolean;
  /** Whether the terminal wraps a line that no longer fits after a resize; most do. */
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
      // Not awaited: a line that appears a moment later is soon enough.
      void this.#load();
    }
  }

  hide(): void {
    this.#render = undefined;
    this.#stream.off('resize', this.#onResize);
    this.#spinner?.stop();
  }

  async #load(): Promise<void> {
    // Loaded here: most commands end before they have anything to show.
    const { default: ora } = await import('ora');
    this.#spinner = ora({
      stream: this.#stream,
      color: this.#options.color ? 'cyan' : false,
      // Ctrl-C belongs to signals.ts, and text that is typed ahead to the shell.
      discardStdin: false,
      isEnabled: true,
    });
    this.#draw();
  }

  /** The spinner erases one row, but after a resize its line may be wrapped over several. */
  #resize(): void {
    const spinner = this.#spinner;
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
    this.#spinner.text = this.#render(Math.max(1, this.#columns - FRAME_COLUMNS));
    // ora redraws by itself, soon enough.
    if (!this.#spinner.isSpinning) this.#spinner.start();
  }
}
