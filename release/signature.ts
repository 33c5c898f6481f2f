// Signs SHA256SUMS with the releaser's SSH key. No service is involved, and every machine with OpenSSH can
// verify the signature. docs/operations/install.md explains how.

import { execFileSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";

/** Namespace of the signature. A signature that was made for another purpose is not accepted. */
const NAMESPACE = "ringback-release";
const SIGNER = "maintainers@ringback.example";

/**
 * Signs the checksums. `keyFile` is a private key, or a public key whose private key is in an agent. Returns
 * the name of the signature file.
 */
export function signChecksums(folder: string, keyFile: string): string {
	// The old signature is deleted first, because ssh-keygen asks before it overwrites one.
	rmSync(join(folder, "SHA256SUMS.sig"), { force: true });
	execFileSync("ssh-keygen", ["-Y", "sign", "-f", keyFile, "-n", NAMESPACE, join(folder, "SHA256SUMS")], {
		// The terminal is passed on, because ssh-keygen may ask for the passphrase of the key.
		stdio: ["inherit", "ignore", "inherit"],
	});
	return "SHA256SUMS.sig";
}

/** Returns the line that people add to their file of allowed signers. */
export function describeSigner(publicKey: string): string {
	const [kind, key] = publicKey.trim().split(" ");
	return `${SIGNER} namespaces="${NAMESPACE}" ${kind} ${key}`;
}
