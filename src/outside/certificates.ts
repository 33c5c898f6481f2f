// Reads the certificates on which this installation depends: the one that PUBLIC_URL presents, and those in the file of
// RINGBACK_TRUSTED_CA.

import { X509Certificate } from "node:crypto";
import { connect } from "node:tls";
import { isAddress } from "#core/domain/address.ts";
import type { CertificateReading } from "#core/domain/certificate.ts";
import { MINUTE_MS, SECOND_MS } from "#core/domain/time.ts";
import type { Clock } from "#core/ports.ts";
import { readErrorCode } from "./error-code.ts";

export interface CertificateReader {
	/** Returns the certificates that were read last. If that was long ago, they are read again in the background. */
	last(): readonly CertificateReading[];
	read(): Promise<readonly CertificateReading[]>;
	close(): void;
}

export interface CertificateReaderOptions {
	publicUrl: string | null;
	trustedCa: string | null;
	clock: Pick<Clock, "nowMs">;
}

/** Time after which the certificates are read again, so that a renewed one is noticed. */
const READ_AGAIN_MS = 10 * MINUTE_MS;
const DEADLINE_MS = 5 * SECOND_MS;
const HTTPS_PORT = 443;

export function createCertificateReader({
	publicUrl,
	trustedCa,
	clock,
}: CertificateReaderOptions): CertificateReader {
	const authorities = trustedCa === null ? [] : readAuthorities(trustedCa);
	const url = publicUrl === null ? null : new URL(publicUrl);
	const closing = new AbortController();
	let known: readonly CertificateReading[] = authorities;
	let readAtMs: number | null = null;

	async function read(): Promise<readonly CertificateReading[]> {
		readAtMs = clock.nowMs();
		if (url?.protocol === "https:") known = [await readServed(url, closing.signal), ...authorities];
		return known;
	}

	return {
		last() {
			const isOld = readAtMs === null || clock.nowMs() - readAtMs >= READ_AGAIN_MS;
			if (isOld && !closing.signal.aborted) void read();
			return known;
		},
		read,
		close: () => closing.abort(),
	};
}

const PEM_BLOCK = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

function readAuthorities(pem: string): CertificateReading[] {
	return [...pem.matchAll(PEM_BLOCK)].map(([block]) => {
		const certificate = new X509Certificate(block);
		return {
			setting: "RINGBACK_TRUSTED_CA",
			name: certificate.subject.replaceAll("\n", ", "),
			isForHost: true,
			...lifeOf(certificate),
		};
	});
}

/** Reads the certificate that this address presents. The certificate is read even if nobody trusts its issuer. */
function readServed(url: URL, closing: AbortSignal): Promise<CertificateReading> {
	const setting = "PUBLIC_URL";
	const name = url.hostname;
	const host = name.replace(/^\[(.*)\]$/, "$1");
	const isLiteral = isAddress(host);
	return new Promise((resolve) => {
		const signal = AbortSignal.any([closing, AbortSignal.timeout(DEADLINE_MS)]);
		const socket = connect({
			host,
			port: url.port === "" ? HTTPS_PORT : Number(url.port),
			...(isLiteral ? {} : { servername: host }),
			rejectUnauthorized: false,
		});
		const end = (reading: CertificateReading): void => {
			signal.removeEventListener("abort", giveUp);
			socket.destroy();
			resolve(reading);
		};
		const giveUp = (): void => end({ setting, name, failure: "ETIMEDOUT" });
		signal.addEventListener("abort", giveUp);
		socket.on("error", (error) => end({ setting, name, failure: readErrorCode(error) }));
		socket.once("secureConnect", () => {
			const certificate = socket.getPeerX509Certificate();
			if (certificate === undefined) {
				end({ setting, name, failure: "no certificate" });
				return;
			}
			const isForHost = (isLiteral ? certificate.checkIP(host) : certificate.checkHost(host)) !== undefined;
			end({ setting, name, isForHost, ...lifeOf(certificate) });
		});
	});
}

function lifeOf({ validFromDate, validToDate }: X509Certificate): { beginsAtMs: number; endsAtMs: number } {
	return { beginsAtMs: validFromDate.getTime(), endsAtMs: validToDate.getTime() };
}
