/** The top-level properties that the service adds to a stored document. They are never copied (fact SVC-45). */
export const STORED_PROPERTIES: readonly string[] = ['_rid', '_self', '_etag', '_attachments', '_ts'];

/**
 * The property that change feeds add as well. In a feed it hides a property of the same name that the application has
 * set; only a read of the document shows the application's value (verify/recheck/hidden-properties.ts).
 */
export const FEED_PROPERTY = '_lsn';

/** The top-level properties that are not copied from a feed. */
export const SYSTEM_PROPERTIES: readonly string[] = [...STORED_PROPERTIES, FEED_PROPERTY];
