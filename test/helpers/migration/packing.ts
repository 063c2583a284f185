/**
 * Whether the kernel packs the plain documents of the copy, as it always does for operators. With COSMIG_TEST_PACKING=no
 * each document is read value by value, so that migrations under trouble try that path with all documents, too.
 */
export const packsPages = process.env['COSMIG_TEST_PACKING'] !== 'no';
