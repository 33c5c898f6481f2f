// Writes LICENSES.txt: the licence of each part of the executable, with the text that its authors require.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { ReleasedPackage } from "./released-packages.ts";

const TEXT_FILE = /^(?:licen[cs]e|copying|notice)(?:\.(?:md|txt))?$/i;
const RULE = "=".repeat(78);

/** Licence text for packages that name the MIT licence without including it. */
const MIT_TEXT = `Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.`;

export interface LicensedPart {
	title: string;
	text: string;
}

export function writeLicences(
	root: string,
	packages: readonly ReleasedPackage[],
	node: LicensedPart,
): string {
	const ringback = { title: "Ringback (MIT)", text: readFileSync(join(root, "LICENSE"), "utf8") };
	const parts = [ringback, ...packages.map((each) => licencePart(root, each)), node];
	const intro = "Ringback is made of the parts below. Each is followed by the licence it is under.";
	return [intro, ...parts.map(({ title, text }) => `${RULE}\n${title}\n${RULE}\n\n${tidy(text)}`)]
		.join("\n\n")
		.concat("\n");
}

function licencePart(root: string, { path, name, version, licence }: ReleasedPackage): LicensedPart {
	const folder = join(root, path);
	const texts = readdirSync(folder)
		.filter((file) => TEXT_FILE.test(file))
		.sort()
		.map((file) => readFileSync(join(folder, file), "utf8"));
	if (texts.length === 0 && licence !== "MIT")
		throw new Error(`${name} has no licence text, and we have none of ${licence}.`);
	const text = texts.length > 0 ? texts.join("\n\n") : `Copyright (c) the authors of ${name}\n\n${MIT_TEXT}`;
	return { title: `${name} ${version} (${licence})`, text };
}

function tidy(text: string): string {
	return text.replaceAll("\r\n", "\n").trim();
}
