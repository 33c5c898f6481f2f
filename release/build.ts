// Builds a release, from the sources to the files that people download.

import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import packageJson from "../package.json" with { type: "json" };
import { storeReceiver } from "../receiver/pack.ts";
import { canPackVendurePlugin, storeVendurePlugin } from "../receiver/pack-vendure.ts";
import { bundleProgram } from "./bundle.ts";
import { debianName, makeDebianPackage } from "./debian-package.ts";
import { makeExecutable } from "./executable.ts";
import { writeLicences } from "./licences.ts";
import { type LockFile, packagePathOf, readLockFile, resolvePackage } from "./lock-file.ts";
import { type Architecture, type NodePackage, openNodePackage } from "./node-package.ts";
import { describePackages, type ReleasedPackage } from "./released-packages.ts";
import { writeSbom } from "./sbom.ts";
import { listShippedFiles, readShippedFiles, type ShippedFile } from "./shipped-files.ts";

export interface ReleaseOptions {
	root: string;
	/**
	 * Folder for the files of the release. It is created if needed, and files with the same names are replaced.
	 */
	folder: string;
	architectures: readonly Architecture[];
	/** True if Debian packages are built, which needs dpkg-deb. */
	withDebianPackages: boolean;
	/** Function that is called at the beginning of each step. */
	progress: (step: string) => void;
}

export interface ReleaseFile {
	name: string;
	bytes: number;
	sha256: string;
}

interface Prepared {
	code: Uint8Array;
	files: readonly ShippedFile[];
	packages: readonly ReleasedPackage[];
	resolve: (from: ReleasedPackage, name: string) => ReleasedPackage | undefined;
	licences: string;
}

export function executableName(arch: Architecture): string {
	return `ringback-${packageJson.version}-linux-${arch}`;
}

/** Builds a release. Resolves to the files that were written, with SHA256SUMS last. */
export async function buildRelease(options: ReleaseOptions): Promise<ReleaseFile[]> {
	const { root, folder, architectures, withDebianPackages, progress } = options;
	const workFolder = mkdtempSync(join(tmpdir(), "ringback-release-"));
	try {
		mkdirSync(folder, { recursive: true });
		const lock = readLockFile(root);
		const nodes: NodePackage[] = [];
		for (const arch of architectures) {
			progress(`Node for Linux on ${arch}`);
			nodes.push(await openNodePackage({ root, lock, unpackFolder: workFolder }, arch));
		}
		progress("the packages that shops install");
		storeReceiver();
		if (canPackVendurePlugin()) storeVendurePlugin();
		progress("the sources as one file");
		const prepared = await prepare(root, lock, nodes);
		const written: ReleaseFile[] = [];
		const write = (name: string, content: string): void => {
			writeFileSync(join(folder, name), content);
			written.push(describeFile(folder, name));
		};
		for (const node of nodes) {
			const name = executableName(node.arch);
			progress(name);
			await makeExecutable({
				node: node.binary,
				code: prepared.code,
				files: prepared.files,
				output: join(folder, name),
				workFolder: join(workFolder, node.arch),
			});
			const file = describeFile(folder, name);
			written.push(file);
			write(`${name}.cdx.json`, writeSbomFile(file, node, prepared));
			if (!withDebianPackages) continue;
			progress(debianName(packageJson.version, node.arch));
			const debian = await makeDebianPackage({
				root,
				version: packageJson.version,
				arch: node.arch,
				executable: join(folder, name),
				licences: prepared.licences,
				folder,
				workFolder: join(workFolder, `${node.arch}-debian`),
			});
			written.push(describeFile(folder, debian));
		}
		write("LICENSES.txt", prepared.licences);
		write("SHA256SUMS", written.map(({ name, sha256 }) => `${sha256}  ${name}\n`).join(""));
		return written;
	} finally {
		rmSync(workFolder, { recursive: true, force: true });
	}
}

async function prepare(root: string, lock: LockFile, [node]: readonly NodePackage[]): Promise<Prepared> {
	// The Node that runs this program builds the executables, and the SBOM lists its parts. Its version must
	// therefore be the one in the lock file.
	if (process.versions.node !== node?.version)
		throw new Error(
			`This is Node ${process.versions.node}, and package-lock.json has ${node?.version}: run it as "npm run release", after "npm ci".`,
		);
	const { code, packages: bundled } = await bundleProgram(root);
	const shipped = listShippedFiles(root).flatMap((path) => packagePathOf(path) ?? []);
	const packages = describePackages(root, lock, [...bundled, ...shipped]);
	const byPath = new Map(packages.map((each) => [each.path, each]));
	const licences = writeLicences(root, packages, {
		title: `Node.js ${node.version} (MIT, and its parts under licences of their own)`,
		text: node.licenceText,
	});
	return {
		code,
		packages,
		licences,
		files: readShippedFiles({ root, licences }),
		resolve: (from, name) => byPath.get(resolvePackage(lock, from.path, name) ?? ""),
	};
}

function writeSbomFile({ name, sha256 }: ReleaseFile, node: NodePackage, prepared: Prepared): string {
	const sbom = writeSbom({
		version: packageJson.version,
		fileName: name,
		sha256,
		node,
		nodeParts: process.versions,
		...prepared,
	});
	return `${JSON.stringify(sbom, null, "\t")}\n`;
}

function describeFile(folder: string, name: string): ReleaseFile {
	const content = readFileSync(join(folder, name));
	return { name, bytes: content.length, sha256: createHash("sha256").update(content).digest("hex") };
}
