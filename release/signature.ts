// A signature over SHA256SUMS with a key of the releaser's, as OpenSSH makes it: no service is asked, and every machine
// with ssh can check it. docs/operations/install.md says how.

import { execFileSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";

/** What the signature is for: one that was made for something else is no good here. */
const NAMESPACE = "ringback-release";
const SIGNER = "maintainers@ringback.example";

/** `keyFile` is a private key, or a public one whose private key an agent has. Resolves to the name of what was written. */
export function signChecksums(folder: string, keyFile: string): string {
	// ssh-keygen asks before it replaces one.
	rmSync(join(folder, "SHA256SUMS.sig"), { force: true });
	execFileSync("ssh-keygen", ["-Y", "sign", "-f", keyFile, "-n", NAMESPACE, join(folder, "SHA256SUMS")], {
		// It may ask for the key's passphrase.
		stdio: ["inherit", "ignore", "inherit"],
	});
	return "SHA256SUMS.sig";
}

/** What people put into their file of allowed signers. */
export function describeSigner(publicKey: string): string {
	const [kind, key] = publicKey.trim().split(" ");
	return `${SIGNER} namespaces="${NAMESPACE}" ${kind} ${key}`;
}
