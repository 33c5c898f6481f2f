// Stores TLS sessions, so that the next connection to the same shop needs no full handshake. A shop that
// resumes a session shows no certificate. The session therefore stands for the check of the certificate that
// was made in a full handshake, and must not outlive that check. A ticket of TLS 1.3 is used once only (RFC 8446
// appendix C.4).
//
//   taken for a dial ─► resumed ─► answered ─► stored again, with those that the shop issued
//          └──────────────┴──── any failure ────► dropped

import { HOUR_MS } from "#core/domain/time.ts";

export interface TlsSession {
	/**
	 * Session in Node's encoding. Node includes the host name that was checked, and ignores the session for any other
	 * name.
	 */
	readonly bytes: Buffer;
	readonly check: CertificateCheck;
}

/** Result of checking a shop's certificates in a full handshake. */
export interface CertificateCheck {
	readonly atMs: number;
	/** Time at which the first certificate of the chain expires. */
	readonly expiresAtMs: number;
}

export interface TlsSessions {
	/**
	 * Removes and returns the usable sessions of a route, the newest one last. The caller stores them again after the
	 * next answer. If the connection fails, none of them is used again.
	 */
	take(key: string): TlsSession[];
	/** Stores the sessions of a connection on which the shop answered, the newest one last. */
	keep(key: string, sessions: readonly TlsSession[]): void;
	forget(key: string): void;
}

/** Maximum number of routes with sessions. A session has 1 to 3 KB with the certificate of an ordinary shop. */
const MAX_ROUTES = 10_000;
/**
 * Maximum number of sessions of a route. Servers with TLS 1.3 issue two tickets after a full handshake, and some
 * issue none when a session is resumed.
 */
const MAX_PER_ROUTE = 2;
/**
 * Maximum size of a stored session. The shop decides the size of its certificate and of its ticket. Without a
 * limit, many shops could fill the memory.
 */
const MAX_SESSION_BYTES = 8 * 1_024;
/** Time after which the certificate is checked again. It may have been revoked in the meantime. */
const MAX_CHECK_AGE_MS = HOUR_MS;

export function createTlsSessions(nowMs: () => number): TlsSessions {
	/** Sessions by route. The route whose sessions were stored last is at the end. */
	const routes = new Map<string, readonly TlsSession[]>();

	function isUsable({ check }: TlsSession): boolean {
		const ageMs = nowMs() - check.atMs;
		// The age is negative if the clock was set back. In that case the true age is unknown.
		return ageMs >= 0 && ageMs < MAX_CHECK_AGE_MS && nowMs() < check.expiresAtMs;
	}

	function dropOldest(): void {
		for (const [key, sessions] of routes) {
			if (routes.size < MAX_ROUTES && sessions.some(isUsable)) return;
			routes.delete(key);
		}
	}

	return {
		take(key) {
			const sessions = routes.get(key) ?? [];
			routes.delete(key);
			return sessions.filter(isUsable);
		},
		keep(key, sessions) {
			const kept = sessions.filter(({ bytes }) => bytes.length <= MAX_SESSION_BYTES).slice(-MAX_PER_ROUTE);
			if (!kept.some(isUsable)) return;
			routes.delete(key);
			dropOldest();
			routes.set(key, kept);
		},
		forget(key) {
			routes.delete(key);
		},
	};
}
