// Bundles the third-party packages that test processes load into a few files. kysely alone has 255 files,
// loading a file takes most of a millisecond, and there are hundreds of processes. Our own sources are not
// bundled.

import { createHash } from "node:crypto";
import {
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	renameSync,
	rmSync,
	statSync,
	utimesSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";
import { DAY_MS } from "../../src/domain/time.ts";
import { LOADER_VARIABLE } from "./loader-arguments.ts";

/**
 * Imports that are bundled, from packages with many files. Any other import of these packages is refused,
 * because parts of them would be loaded twice.
 */
const IMPORTS: readonly string[] = [
	"@hono/node-server",
	"csv-parse",
	"fast-check",
	"hono",
	"hono/accepts",
	"hono/body-limit",
	"hono/cookie",
	"hono/html",
	"hono/route",
	"kysely",
	"zod",
];

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const CACHE = join(ROOT, "node_modules/.cache/packages-in-one");

/** Builds the bundles, and makes all processes that are started later with this environment use them. */
export async function bindPackages(): Promise<void> {
	const hash = createHash("sha256");
	for (const path of [join(ROOT, "package-lock.json"), import.meta.filename]) hash.update(readFileSync(path));
	const folder = join(CACHE, hash.digest("hex").slice(0, 16));
	if (existsSync(folder)) utimesSync(folder, new Date(), new Date());
	else await makeFolder(folder);
	const loader = new URL("./load-packages-in-one.ts", import.meta.url);
	loader.searchParams.set("list", join(folder, "list.json"));
	process.env[LOADER_VARIABLE] = loader.href;
	process.env["NODE_OPTIONS"] = `${process.env["NODE_OPTIONS"] ?? ""} --import=${loader.href}`.trim();
}

async function makeFolder(folder: string): Promise<void> {
	mkdirSync(CACHE, { recursive: true });
	removeOld();
	const unfinished = mkdtempSync(join(CACHE, "new-"));
	const outputOf = (specifier: string) => specifier.replaceAll("/", "-");
	await build({
		absWorkingDir: ROOT,
		entryPoints: IMPORTS.map((specifier) => ({ in: specifier, out: outputOf(specifier) })),
		outdir: unfinished,
		bundle: true,
		// Code that several bundles share is written once.
		splitting: true,
		format: "esm",
		platform: "node",
		logLevel: "error",
	});
	const urlOf = (specifier: string) => pathToFileURL(join(folder, `${outputOf(specifier)}.js`)).href;
	const list = Object.fromEntries(IMPORTS.map((specifier) => [specifier, urlOf(specifier)]));
	writeFileSync(join(unfinished, "list.json"), JSON.stringify(list));
	try {
		renameSync(unfinished, folder);
	} catch (error) {
		// Another run that started at the same time built the same bundles first.
		if (!existsSync(join(folder, "list.json"))) throw error;
		rmSync(unfinished, { recursive: true });
	}
}

/** Removes old bundles. A bundle that was built or used within a day may still be in use. */
function removeOld(): void {
	for (const name of readdirSync(CACHE)) {
		const path = join(CACHE, name);
		const takenUpAtMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
		if (Date.now() - takenUpAtMs > DAY_MS) rmSync(path, { recursive: true, force: true });
	}
}
