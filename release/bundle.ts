// Bundles the program into one file: our sources and the parts of packages that they use, without types.

import { build } from "esbuild";
import { packagePathOf } from "./lock-file.ts";

export interface Bundle {
	code: Uint8Array;
	/** Packages that the bundle really contains, as sorted paths of the lock file. */
	packages: readonly string[];
}

/**
 * Packages written for `require` load Node's modules with it, and a module has no `require` unless it creates
 * one.
 */
const BANNER =
	'import { createRequire as createBundleRequire } from "node:module"; const require = createBundleRequire(import.meta.url);';

export async function bundleProgram(root: string): Promise<Bundle> {
	const { outputFiles, metafile, warnings } = await build({
		// Relative paths, so that the file does not reveal where it was built.
		absWorkingDir: root,
		entryPoints: ["release/program.ts"],
		outfile: "ringback.mjs",
		write: false,
		metafile: true,
		bundle: true,
		platform: "node",
		target: "node26",
		format: "esm",
		// The type check's configuration is not used, because it maps some packages to declarations.
		tsconfigRaw: {},
		banner: { js: BANNER },
		// Every byte of the program stays in memory. Names are kept for the stack traces in the log.
		minifySyntax: true,
		minifyWhitespace: true,
		// The licences are in LICENSES.txt.
		legalComments: "none",
		// pg tries to load it and works without it.
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
