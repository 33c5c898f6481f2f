// The program as one file: our sources and what they use of the packages, without types.

import { build } from "esbuild";
import { packagePathOf } from "./lock-file.ts";

export interface Bundle {
	code: Uint8Array;
	/** What of it is really in: paths in the lock file, sorted. */
	packages: readonly string[];
}

/** Packages written for `require` ask for Node's own modules by it; a module has none unless it makes one. */
const BANNER =
	'import { createRequire as createBundleRequire } from "node:module"; const require = createBundleRequire(import.meta.url);';

export async function bundleProgram(root: string): Promise<Bundle> {
	const { outputFiles, metafile, warnings } = await build({
		// Relative paths, so that the file does not say where it was made.
		absWorkingDir: root,
		entryPoints: ["release/program.ts"],
		outfile: "ringback.mjs",
		write: false,
		metafile: true,
		bundle: true,
		platform: "node",
		target: "node26",
		format: "esm",
		// Not the one of the type check, which leads to declarations in place of programs.
		tsconfigRaw: {},
		banner: { js: BANNER },
		// Every byte of it stays in memory. Names stay too: they are in the stacks that the log shows.
		minifySyntax: true,
		minifyWhitespace: true,
		// They are in LICENSES.txt.
		legalComments: "none",
		// pg asks for it and does without.
		external: ["pg-native"],
		logLevel: "silent",
	});
	const [made] = outputFiles;
	const [about] = Object.values(metafile.outputs);
	if (made === undefined || about === undefined) throw new Error("the bundle is empty");
	if (warnings.length > 0)
		throw new Error(`the bundle would be doubtful: ${warnings.map(({ text }) => text).join("; ")}`);
	const used = Object.entries(about.inputs).filter(([, { bytesInOutput }]) => bytesInOutput > 0);
	const packages = new Set(used.flatMap(([file]) => packagePathOf(file) ?? []));
	return { code: made.contents, packages: [...packages].sort() };
}
