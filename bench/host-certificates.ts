// Makes the certificates of many hosts. Each host has a leaf certificate and an intermediate CA of its own. Hosts of one
// kind share their keys, because making a key takes longer than signing a certificate.

import { generateKeyPairSync } from "node:crypto";
import { makeAuthorityPem, makeLeafPem, type Party } from "../demo/certificate.ts";

export type HostKeys = "RSA-2048" | "P-256";

export interface HostCertificates {
	/** Certificate of the root CA, as PEM. */
	caPem: string;
	/** Private key that all hosts share, as PEM. */
	keyPem: string;
	/** Returns the certificate of a host and of its intermediate CA, as PEM. */
	chainOf(host: string): string;
}

const DAY_MS = 86_400_000;

export function makeHostCertificates(kind: HostKeys): HostCertificates {
	const nowMs = Date.now();
	const life = { notBefore: new Date(nowMs - DAY_MS), notAfter: new Date(nowMs + DAY_MS) };
	const root: Party = { name: `Bench root ${kind}`, keys: makeKeys(kind) };
	const intermediateKeys = makeKeys(kind);
	const leafKeys = makeKeys(kind);
	return {
		caPem: makeAuthorityPem(root, root, life),
		keyPem: leafKeys.privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
		chainOf(host) {
			const intermediate: Party = { name: `Bench CA of ${host}`, keys: intermediateKeys };
			const leaf = makeLeafPem([host], { name: host, keys: leafKeys }, intermediate, life);
			return leaf + makeAuthorityPem(intermediate, root, life);
		},
	};
}

function makeKeys(kind: HostKeys): Party["keys"] {
	return kind === "P-256"
		? generateKeyPairSync("ec", { namedCurve: "P-256" })
		: generateKeyPairSync("rsa", { modulusLength: 2_048 });
}
