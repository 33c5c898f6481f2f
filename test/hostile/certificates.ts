// The certificates of the hostile shops. Each has a CA of its own; all but one are trusted, so that nothing but
// the fault in question is wrong with them.

import { type CertificateOptions, type Certificates, makeCertificates } from "../../demo/certificate.ts";
import type { CertificateName } from "./attack.ts";

export interface CertificateSet {
	of(name: CertificateName): Certificates;
	/** PEM of every CA that the service is to trust. */
	readonly trustedCa: string;
}

const DAY_MS = 86_400_000;
const HOST = "127.0.0.1";
/** OpenSSL goes 100 certificates deep. */
const DEEP_INTERMEDIATES = 110;
const STRANGERS = 100;
/** About 45 KB, below the 64 KB that one certificate can have here. */
const MANY_NAMES = 1_500;

export async function makeCertificateSet(): Promise<CertificateSet> {
	const now = Date.now();
	const manyNames = Array.from({ length: MANY_NAMES }, (_, index) => `shop-${index}.many.names.example`);
	const options: Record<Exclude<CertificateName, "long" | "too huge">, CertificateOptions> = {
		good: { names: [HOST] },
		expired: { names: [HOST], notAfter: new Date(now - 1_000) },
		"not yet valid": { names: [HOST], notBefore: new Date(now + DAY_MS) },
		"self-signed": { names: [HOST], isSelfSigned: true },
		"wrong name": { names: ["127.0.0.2", "shop.example"] },
		untrusted: { names: [HOST] },
		deep: { names: [HOST], intermediates: DEEP_INTERMEDIATES },
		huge: { names: [...manyNames, HOST] },
	};
	const set = new Map<CertificateName, Certificates>();
	for (const [name, option] of Object.entries(options)) {
		set.set(name as keyof typeof options, await makeCertificates(option));
	}
	const of = (name: CertificateName): Certificates => {
		const found = set.get(name);
		if (found === undefined) throw new Error(`there is no certificate "${name}"`);
		return found;
	};
	const strangers: string[] = [];
	for (let count = 0; count < STRANGERS; count++) {
		strangers.push((await makeCertificates({ names: [`stranger-${count}.example`] })).certPem);
	}
	set.set("long", withMore(of("good"), strangers));
	// Three of 45 KB: beyond the 100 KB at which OpenSSL stops listening.
	set.set("too huge", withMore(of("huge"), [of("huge").certPem, of("huge").certPem]));
	const trusted = [...set].filter(([name]) => name !== "untrusted").map(([, { caPem }]) => caPem);
	return { of, trustedCa: [...new Set(trusted)].join("") };
}

function withMore(certificates: Certificates, more: readonly string[]): Certificates {
	return { ...certificates, certPem: [certificates.certPem, ...more].join("") };
}
