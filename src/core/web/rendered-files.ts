// Reads the files in docs/rendered/: the documents and the highlighted examples. npm writes them at the end of `npm
// ci` with the script `prepare` of package.json. If npm ran no scripts, these files are missing,
// and the pages that need them explain how to create them.

import { hasShippedFile, readShippedFile } from "../../shipped-files.ts";

/** Text that pages show in place of a missing file, as plain text and as markup. */
export const NOT_RENDERED =
	"This part of the documentation has not been rendered. Run `npm run prepare` in the folder of the service, and then start the service again.";
export const NOT_RENDERED_MARKUP = NOT_RENDERED.replace(/`(.*?)`/, "<code>$1</code>");

/** Returns the text of a rendered file, or null if it is missing. */
export function readRendered(path: string): string | null {
	return hasShippedFile(path) ? readShippedFile(path) : null;
}
