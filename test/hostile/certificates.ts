// The certificates of the hostile shops. Each has its own CA. All CAs except one are trusted, so that each
// certificate has exactly one fault.

import { DAY_MS } from "#core/domain/time.ts";
import { type Certificates, makeCertificates } from "../../demo/certificate.ts";
import type { CertificateName } from "./attack.ts";

export interface CertificateSet {
	of(name: CertificateName): Certificates;
	/** PEM of all CAs that the service must trust. */
	readonly trustedCa: string;
}

const HOST = "127.0.0.1";
/**
 * Number of intermediate CAs in a chain that is too deep. OpenSSL verifies chains of up to 100 certificates.
 */
const DEEP_INTERMEDIATES = 110;
const STRANGERS = 100;
/**
 * Number of names in a huge certificate. It has about 45 KB, below the limit of 64 KB for one certificate.
 */
const MANY_NAMES = 1_500;

export async function makeCertificateSet(): Promise<CertificateSet> {
	const now = Date.now();
	const manyNames = Array.from({ length: MANY_NAMES }, (_, index) => `shop-${index}.many.names.example`);
	const strangers: string[] = [];
	for (let count = 0; count < STRANGERS; count++) {
		strangers.push((await makeCertificates({ names: [`stranger-${count}.example`] })).certPem);
	}
	const good = await makeCertificates({ names: [HOST] });
	const huge = await makeCertificates({ names: [...manyNames, HOST] });
	const set: Record<CertificateName, Certificates> = {
		good,
		expired: await makeCertificates({ names: [HOST], notAfter: new Date(now - 1_000) }),
		"not yet valid": await makeCertificates({ names: [HOST], notBefore: new Date(now + DAY_MS) }),
		"self-signed": await makeCertificates({ names: [HOST], isSelfSigned: true }),
		"wrong name": await makeCertificates({ names: ["127.0.0.2", "shop.example"] }),
		untrusted: await makeCertificates({ names: [HOST] }),
		deep: await makeCertificates({ names: [HOST], intermediates: DEEP_INTERMEDIATES }),
		long: appendCertificates(good, strangers),
		huge,
		// Three certificates of 45 KB exceed the 100 KB at which OpenSSL stops reading.
		"too huge": appendCertificates(huge, [huge.certPem, huge.certPem]),
	};
	const { untrusted: _, ...trusted } = set;
	const trustedCa = new Set(Object.values(trusted).map(({ caPem }) => caPem));
	return { of: (name) => set[name], trustedCa: [...trustedCa].join("") };
}

function appendCertificates(certificates: Certificates, more: readonly string[]): Certificates {
	return { ...certificates, certPem: [certificates.certPem, ...more].join("") };
}
