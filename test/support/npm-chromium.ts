// The Chromium that npm brings for Linux on x64, with the libraries and the font it brings along, so that a bare
// machine of that kind is enough.

import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import packageJson from "../../package.json" with { type: "json" };

export interface NpmChromium {
	executablePath: string;
	env: Readonly<Record<string, string>>;
}

/** Once for each version; beside what npm installed, so that `npm ci` clears it away, too. */
export async function unpackNpmChromium(): Promise<NpmChromium> {
	const version = packageJson.devDependencies["@sparticuz/chromium"];
	// Where it really is: a checkout that borrows another's modules must not leave its own path in the fonts' settings.
	const modules = realpathSync(fileURLToPath(new URL("../../node_modules", import.meta.url)));
	const folder = join(modules, ".cache", `chromium-${version}`);
	if (!existsSync(folder)) await unpackInto(folder);
	return {
		executablePath: join(folder, "chromium"),
		env: { LD_LIBRARY_PATH: join(folder, "al2023", "lib"), FONTCONFIG_FILE: join(folder, "fonts.conf") },
	};
}

async function unpackInto(folder: string): Promise<void> {
	mkdirSync(dirname(folder), { recursive: true });
	const fresh = mkdtempSync(`${folder}-`);
	const script = fileURLToPath(new URL("unpack-chromium.ts", import.meta.url));
	// With the name of a Lambda it unpacks the libraries, too, that are not on every machine (NSS, expat).
	const env = { ...process.env, TMPDIR: fresh, AWS_EXECUTION_ENV: "AWS_Lambda_nodejs22.x" };
	await promisify(execFile)(process.execPath, [script], { env });
	writeFileSync(join(fresh, "fonts.conf"), fontsConf(folder));
	try {
		renameSync(fresh, folder);
	} catch (error) {
		// Somebody else was faster, and theirs is as good.
		rmSync(fresh, { recursive: true });
		if (!existsSync(folder)) throw error;
	}
}

/** The font of the package first; those of the machine for what it lacks, such as letters of equal width. */
function fontsConf(folder: string): string {
	const prefer = (generic: string, family: string) =>
		`<match target="pattern"><test name="family"><string>${generic}</string></test><edit name="family" mode="prepend" binding="strong"><string>${family}</string></edit></match>`;
	return `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
	<dir>${folder}/fonts</dir>
	<dir>/usr/share/fonts</dir>
	<cachedir>${folder}/fonts-cache</cachedir>
	${prefer("system-ui", "Open Sans")}
	${prefer("sans-serif", "Open Sans")}
	${prefer("monospace", "Liberation Mono")}
</fontconfig>
`;
}
