/** Never rejects: whoever waits for it asks how it ended when it is time. */
export async function settled<T>(work: () => Promise<T>): Promise<() => T> {
  try {
    const result = await work();
    return () => result;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}
