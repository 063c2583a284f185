/** A promise that other code resolves or rejects. Promise.withResolvers does the same, but only from Node 22 on. */
export interface Deferred<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (reason: unknown) => void;
}

export function deferred<T = void>(): Deferred<T> {
  let [resolve, reject]: [Deferred<T>['resolve'], Deferred<T>['reject']] = [() => {}, () => {}];
  const promise = new Promise<T>((onValue, onError) => {
    [resolve, reject] = [onValue, onError];
  });
  return { promise, resolve, reject };
}
