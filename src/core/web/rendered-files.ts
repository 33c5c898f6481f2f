// Reads the files in docs/rendered/: the documents and the highlighted examples. The script `prepare` of package.json writes
// them, which npm runs at the end of `npm ci`. If npm was told to run no scripts, pages show how to write them.

import { hasShippedFile, readShippedFile } from "../../shipped-files.ts";

/** Shown in the place of a file that is missing, as text and as markup. */
export const NOT_RENDERED =
	"This part of the documentation has not been rendered. Run `npm run prepare` in the folder of the service, and then start the service again.";
export const NOT_RENDERED_MARKUP = NOT_RENDERED.replace(/`(.*?)`/, "<code>$1</code>");

/** Returns the text of a rendered file, or null if it is missing. */
export function readRendered(path: string): string | null {
	return hasShippedFile(path) ? readShippedFile(path) : null;
}
