// Certificates on which an installation depends, and when somebody has to renew them.

import { DAY_MS } from "./time.ts";

/** A certificate, or the reason why the one of PUBLIC_URL could not be read from this machine. */
export type CertificateReading =
	| {
			setting: "PUBLIC_URL" | "RINGBACK_TRUSTED_CA";
			/** Host that presents the certificate, or subject of the authority. */
			name: string;
			beginsAtMs: number;
			endsAtMs: number;
			/** False if the certificate of PUBLIC_URL is for other hosts. */
			isForHost: boolean;
	  }
	| { setting: "PUBLIC_URL"; name: string; failure: string };

export type CertificateState = "good" | "ending" | "ended" | "other_host" | "unread";

/** Certificates that are issued for months are renewed long before this time, so something has failed by then. */
const ENDING_MS = 14 * DAY_MS;
/** Certificates that are issued for a few days have a shorter limit: this share of their life. */
const ENDING_SHARE = 0.2;

export function judgeCertificate(reading: CertificateReading, nowMs: number): CertificateState {
	if ("failure" in reading) return "unread";
	const { beginsAtMs, endsAtMs, isForHost } = reading;
	if (endsAtMs <= nowMs) return "ended";
	if (!isForHost) return "other_host";
	const limitMs = Math.min(ENDING_MS, (endsAtMs - beginsAtMs) * ENDING_SHARE);
	return endsAtMs - nowMs < limitMs ? "ending" : "good";
}
