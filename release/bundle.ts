// Bundles the program into one file: our sources and the parts of packages that they use, without types.

import { build } from "esbuild";
import { packagePathOf } from "./lock-file.ts";

export interface Bundle {
	code: Uint8Array;
	/** Packages that the bundle really contains, as sorted paths from the lock file. */
	packages: readonly string[];
}

/**
 * First lines of the bundle, which create a `require` function. Packages written for `require` load Node's
 * modules with it, and an ES module has no such function.
 */
const BANNER =
	'import { createRequire as createBundleRequire } from "node:module"; const require = createBundleRequire(import.meta.url);';

export async function bundleProgram(root: string): Promise<Bundle> {
	const { outputFiles, metafile, warnings } = await build({
		// The paths in the bundle are relative, so that the file does not reveal where it was built.
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
		// The code is shortened, because every byte of the program stays in memory. Names are kept for the stack
		// traces in the log.
		minifySyntax: true,
		minifyWhitespace: true,
		// Licence comments are removed, because LICENSES.txt contains the licences.
		legalComments: "none",
		// pg tries to load this package and works without it.
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
