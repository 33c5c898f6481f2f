// Certificates on which an installation depends, and when somebody has to renew them.

import { DAY_MS } from "./time.ts";

/** A certificate, or the reason why the one of PUBLIC_URL could not be read from this machine. */
export type CertificateReading =
	| {
			setting: "PUBLIC_URL" | "RINGBACK_TRUSTED_CA";
			/** Host that presents the certificate, or subject of the certificate authority. */
			name: string;
			beginsAtMs: number;
			endsAtMs: number;
			/** False if the certificate of PUBLIC_URL is for other hosts. */
			isForHost: boolean;
	  }
	| { setting: "PUBLIC_URL"; name: string; failure: string };

export type CertificateState = "good" | "ending" | "ended" | "other_host" | "unread";

/**
 * Remaining life at which staff are warned about a certificate. Automatic renewal happens long before this time, so a
 * certificate this close to its end shows that renewal has failed.
 */
const ENDING_MS = 14 * DAY_MS;
/** Share of a certificate's life at which staff are warned, for certificates that are issued for only a few days. */
const ENDING_SHARE = 0.2;

export function judgeCertificate(reading: CertificateReading, nowMs: number): CertificateState {
	if ("failure" in reading) return "unread";
	const { beginsAtMs, endsAtMs, isForHost } = reading;
	if (endsAtMs <= nowMs) return "ended";
	if (!isForHost) return "other_host";
	const limitMs = Math.min(ENDING_MS, (endsAtMs - beginsAtMs) * ENDING_SHARE);
	return endsAtMs - nowMs < limitMs ? "ending" : "good";
}
