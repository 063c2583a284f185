/** Where a turn that leads back reports to the operator: everything passes with the words source and target swapped. */
import type { RenderLine, Reporter, Result } from '../../cli/command.ts';
import type { Log } from '../../lib/log.ts';
import { swapValues, swapWords } from '../../spec/turns/swapped-sides.ts';

export function swapResult({ json, text, aside }: Result): Result {
  return {
    json: swapValues(json) as Result['json'],
    text: swapWords(text),
    ...(aside === undefined ? {} : { aside: swapWords(aside) }),
  };
}

/**
 * Returns a line in the words of the way back. `cosmig reverse` is longer than `cosmig tail`, so a line that fitted before
 * may be too long. It is then made again for less room, and drops what is least important.
 */
function swapped(render: RenderLine): RenderLine {
  return (columns) => {
    const text = swapWords(render(columns));
    return text.length <= columns ? text : swapWords(render(columns - (text.length - columns)));
  };
}

/** Returns a reporter for a turn that leads back. */
export function swappingReporter(out: Reporter): Reporter {
  return {
    note: (text) => out.note(swapWords(text)),
    progress: (picture, render) =>
      out.progress(swapValues(picture) as Readonly<Record<string, unknown>>, swapped(render)),
    hideLive: () => out.hideLive(),
    announce: (result) => out.announce(swapResult(result)),
    line: async (text, json) =>
      out.line(swapWords(text), json === undefined ? undefined : (swapValues(json) as Result['json'])),
  };
}

/** Returns a log for a turn that leads back. */
export function swappingLog(log: Log): Log {
  const changed =
    (write: Log['info']): Log['info'] =>
    (message, fields) =>
      write(swapWords(message), fields === undefined ? undefined : (swapValues(fields) as typeof fields));
  return {
    debug: changed((message, fields) => log.debug(message, fields)),
    info: changed((message, fields) => log.info(message, fields)),
    warn: changed((message, fields) => log.warn(message, fields)),
    error: changed((message, fields) => log.error(message, fields)),
  };
}
