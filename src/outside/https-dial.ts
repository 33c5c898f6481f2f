// Opens TLS connections to addresses that have already been checked. It looks up no names. It resumes the TLS
// session of an earlier connection if there is one (https-sessions.ts). If that fails, it makes a full handshake
// with the same address in the time that is left.

import { constants } from "node:crypto";
import {
	checkServerIdentity,
	connect,
	createSecureContext,
	getCACertificates,
	type PeerCertificate,
	type SecureContext,
	type TLSSocket,
} from "node:tls";
import type { PostbackUrl } from "#core/domain/postback-url.ts";
import { readErrorCode } from "./error-code.ts";
import { createTlsSessions, type TlsSession } from "./https-sessions.ts";
import type { Route } from "./https-target.ts";
import { createTurns } from "./loop-turns.ts";

/** A TLS connection after its handshake. */
export interface SecureLine {
	readonly socket: TLSSocket;
	readonly route: Route;
	/** Whether the handshake resumed a session, so that the shop showed no certificate. */
	readonly isResumed: boolean;
	/** Sessions that can be resumed by later connections to the shop. */
	sessions: TlsSession[];
}

export interface DialObserver {
	/** Called when the TCP connection is open and the TLS handshake begins. */
	onConnect(): void;
	onSecure(line: SecureLine): void;
	/** Called instead of `onSecure`, with the error of the last address that was tried. */
	onFailure(code: string): void;
}

export interface Dialler {
	dial(order: DialOrder, observer: DialObserver): Cancel;
	/** Stores the sessions of a connection, so that the next ones on its route resume them. */
	keepSessions(line: SecureLine): void;
}

export interface DialOrder {
	url: PostbackUrl;
	routes: readonly Route[];
	leftMs: number;
	/** False if the handshake must be a full one. */
	mayResume: boolean;
}

export type Cancel = () => void;

/**
 * Maximum number of parts into which the remaining time is divided. The first address gets 1.25 s of 5 s,
 * which is enough to repeat a lost SYN once (after 1 s, RFC 6298).
 */
const MAX_SHARES = 4;

let lastContext: { trustedCa: string | undefined; context: SecureContext } | undefined;

/** Returns a context that trusts `trustedCa` as well. The last one is reused, because a new one takes 40 ms. */
function contextOf(trustedCa: string | undefined): SecureContext {
	if (lastContext !== undefined && lastContext.trustedCa === trustedCa) return lastContext.context;
	const context = createSecureContext({
		minVersion: "TLSv1.2",
		// Without this option, a shop with TLS 1.2 could make us renegotiate 3,000 times a second during each
		// attempt.
		secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
		// `ca` replaces the default root certificates, so they are listed again.
		...(trustedCa === undefined ? {} : { ca: [...getCACertificates("default"), trustedCa] }),
	});
	lastContext = { trustedCa, context };
	return context;
}

/**
 * Share of the remaining time that a resumed handshake may take. The rest is left for a full handshake, which takes as
 * many round trips.
 */
const RESUMED_SHARE = 1 / 2;
/**
 * Maximum number of connections that are begun in one turn of the event loop. A handshake takes about a millisecond of
 * this process, which must also answer sales in between.
 */
const MAX_BEGUN_PER_TURN = 2;
/** Maximum number of sessions that a shop may issue on a connection. Servers issue one or two. */
const MAX_ISSUED_SESSIONS = 16;

export function createDialler(trustedCa: string | undefined): Dialler {
	const secureContext = contextOf(trustedCa);
	// The sessions are only valid for the certificate authorities with which they were checked.
	const sessions = createTlsSessions(() => Date.now());
	const beginInTurn = createTurns(MAX_BEGUN_PER_TURN);

	/** Connects to the checked address, so that the host name is not looked up a second time. */
	function open(
		url: PostbackUrl,
		address: string,
		session: TlsSession | undefined,
		onCheck: (certificate: PeerCertificate) => void,
	): TLSSocket {
		const socket = connect({
			host: address,
			port: url.port,
			secureContext,
			// For a literal address no server name is sent. The certificate is then checked against `host`, which
			// is the address.
			...(url.isLiteral ? {} : { servername: url.hostname }),
			ALPNProtocols: ["http/1.1"],
			// This is the default. The option is set, because NODE_TLS_REJECT_UNAUTHORIZED in the environment could change
			// the default.
			rejectUnauthorized: true,
			...(session === undefined ? {} : { session: session.bytes }),
			checkServerIdentity(name, certificate) {
				onCheck(certificate);
				return checkServerIdentity(name, certificate);
			},
		});
		socket.setNoDelay(true);
		return socket;
	}

	// Tries one address after the other. Only a failure to connect leads to the next address. Once TCP is open,
	// the host is the right one, and a TLS failure would occur at its other addresses, too.
	function dial({ url, routes, leftMs, mayResume }: DialOrder, observer: DialObserver): Cancel {
		const endMs = performance.now() + leftMs;
		let isCancelled = false;
		let leavePresent: Cancel = () => {
			isCancelled = true;
		};

		/**
		 * Tries the address at `index`. `failedHandshake` is the error of a resumed handshake with the same address, if
		 * this try replaces it.
		 */
		function tryRoute(index: number, lastCode: string, failedHandshake?: string): void {
			const route = routes[index];
			if (route === undefined) {
				observer.onFailure(lastCode);
				return;
			}
			const isRepeated = failedHandshake !== undefined;
			const stored = mayResume && !isRepeated ? sessions.take(route.key) : [];
			const offered = stored.pop();
			let check = offered?.check;
			let socket: TLSSocket;
			try {
				socket = open(url, route.address, offered, (certificate) => {
					check = { atMs: Date.now(), expiresAtMs: earliestEnd(certificate) };
				});
			} catch (error) {
				tryRoute(index + 1, readErrorCode(error));
				return;
			}
			let line: SecureLine | undefined;
			let isConnected = false;
			let isOver = false;
			let share: NodeJS.Timeout | undefined;
			const leave = () => {
				isOver = true;
				clearTimeout(share);
				socket.destroy();
			};
			const fail = (code: string) => {
				if (isOver) return;
				leave();
				if (isConnected) sessions.forget(route.key);
				if (isConnected && offered !== undefined) tryRoute(index, code, code);
				else if (isConnected) observer.onFailure(code);
				// The shop could be reached a moment ago, so the error of its failed handshake says more than this error.
				else if (isRepeated) observer.onFailure(failedHandshake);
				else tryRoute(index + 1, code);
			};
			/** Gives up after a part of the remaining time if the present step is not over by then. */
			const limitStep = (part: number) => {
				const wasConnected = isConnected;
				// The timeout waits for one poll phase. If this process stalled, the connection may be open without
				// having been noticed.
				const giveUp = () => {
					if (isConnected === wasConnected) fail("ETIMEDOUT");
				};
				share = setTimeout(() => setImmediate(giveUp), (endMs - performance.now()) * part);
			};
			// This listener stays for the socket's whole life, because an unhandled error would end the process.
			socket.on("error", (error) => fail(readErrorCode(error)));
			socket.once("close", () => fail("ECONNRESET"));
			socket.once("connect", () => {
				if (isOver) return;
				isConnected = true;
				clearTimeout(share);
				if (offered !== undefined) limitStep(RESUMED_SHARE);
				if (!isRepeated) observer.onConnect();
			});
			socket.once("secureConnect", () => {
				if (isOver) return;
				isOver = true;
				clearTimeout(share);
				const isResumed = socket.isSessionReused();
				line = { socket, route, isResumed, sessions: isResumed ? stored : [] };
				// A session of TLS 1.2 may be resumed many times.
				if (isResumed && offered !== undefined && socket.getProtocol() === "TLSv1.2") stored.push(offered);
				observer.onSecure(line);
			});
			// Node emits this event after "secureConnect", and only if there is a listener before the handshake.
			let issued = 0;
			socket.on("session", (bytes: Buffer) => {
				issued += 1;
				// Each issued session costs processor time, and a shop could issue sessions without end.
				if (issued > MAX_ISSUED_SESSIONS) socket.destroy();
				else if (check !== undefined) line?.sessions.push({ bytes: copy(bytes), check });
			});
			// An address that never answers must leave time for the others. The last address gets all the remaining
			// time.
			const ahead = routes.length - index;
			if (ahead > 1 && !isRepeated) limitStep(1 / Math.min(ahead, MAX_SHARES));
			leavePresent = leave;
		}

		beginInTurn(() => {
			if (!isCancelled) tryRoute(0, "ENOTFOUND");
		});
		return () => leavePresent();
	}

	return {
		dial,
		keepSessions(line) {
			if (line.sessions.length === 0) return;
			sessions.keep(line.route.key, line.sessions);
			line.sessions = [];
		},
	};
}

/** Copies the bytes, because a slice would keep the large buffer that contains it in memory. */
function copy(bytes: Buffer): Buffer {
	const own = Buffer.allocUnsafeSlow(bytes.length);
	bytes.copy(own);
	return own;
}

/**
 * Returns the time at which the first certificate of a chain expires. The loop ends at the root, which names itself as
 * its issuer.
 */
function earliestEnd(certificate: PeerCertificate): number {
	let earliestMs = Number.POSITIVE_INFINITY;
	let present: Issued | undefined = certificate;
	for (let above: Issued | undefined; present !== undefined && present !== above; ) {
		earliestMs = Math.min(earliestMs, Date.parse(present.valid_to));
		above = present;
		present = present.issuerCertificate;
	}
	return earliestMs;
}

/** A certificate and the chain of its issuers, as far as the shop sent them or we trust them. */
type Issued = PeerCertificate & { issuerCertificate?: Issued };
