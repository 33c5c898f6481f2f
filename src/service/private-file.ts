// Writes a file that only its owner may read. Until it is complete it has a temporary name, and it replaces no file.

import { dirname, resolve } from "node:path";
import { type Result, refuse, succeed } from "#core/domain/fault.ts";
import { partialName, replaceDurably, writeNewFile } from "../outside/durable-file.ts";
import { explainFailure, lstatOf, type Tell, withPartialFiles } from "./file-work.ts";

/** Writes the parts to the file. Each part is generated only when the previous part has been written. */
export async function writePrivateFile(
	path: string,
	parts: AsyncIterable<string>,
	tell: Tell,
): Promise<Result<true>> {
	if (lstatOf(path) !== null) {
		return refuse("invalid_field", `There is a file ${path} already. Choose another name with --to.`);
	}
	const folder = dirname(resolve(path));
	if (lstatOf(folder) === null) {
		return refuse("invalid_field", `There is no folder ${folder}. Make it first, or name another with --to.`);
	}
	await withPartialFiles(tell, async (partial) => {
		const draft = partial(partialName(path));
		await explainFailure(folder, () => writeNewFile(draft, null, (file) => file.writeFile(parts)));
		replaceDurably(draft, path);
	});
	return succeed(true);
}
