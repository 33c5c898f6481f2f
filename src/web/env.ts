// What every page finds in its context: who is looking, and what guards their forms.

import type { Context } from "hono";
import type { Visitor } from "../accounts/auth.ts";
import type { Result } from "../domain/fault.ts";
import type { PersonKind, Standing } from "../domain/roles.ts";
import type { Warning } from "../domain/warning.ts";
import type { RequestRecord } from "../ports.ts";
import type { NetworkFace } from "../store/known-network.ts";
import type { Programme } from "../store/programmes.ts";
import type { DocumentProgramme, Flash, SetUpProgress } from "./document.ts";

export interface Viewer {
	personId: number;
	publicId: string;
	email: string;
	name: string;
	kind: PersonKind;
	/** How times are written for them; null for the browser's own. */
	zone: string | null;
	locale: string | null;
	/** How many somebody of a shop has, counted up to two; 0 for staff, who see all. */
	programmeCount: number;
	hasAuthenticator: boolean;
	/** Must set up an authenticator before anything else: of the staff, where the network asks it of them. */
	awaitsAuthenticator: boolean;
}

export interface FormGuard {
	/** Makes the visit's cookie when there is neither a session nor a visit yet. */
	token(c: WebContext): string;
	isOwn(c: WebContext, token: unknown): boolean;
	bindToSession(c: WebContext, sessionToken: string): void;
}

export interface FlashCookie {
	set(c: WebContext, flash: Flash): void;
	/** Forgets it, too. */
	take(c: WebContext): Flash | undefined;
}

/** A file that a form brought; there until the request has been answered. */
export interface Upload {
	/** As the sender says. */
	name: string;
	bytes: number;
	/** From its first byte, as often as asked. */
	read(): AsyncIterable<Uint8Array>;
}

/** `incoming` is there behind @hono/node-server and missing when a request is made in process. */
export interface WebEnv {
	Bindings: {
		incoming?: {
			url?: string | undefined;
			socket?: { remoteAddress?: string | undefined } | undefined;
			/** Where requests are counted and logged. */
			record?: RequestRecord;
			/** The body, piece by piece. */
			[Symbol.asyncIterator]?(): AsyncIterator<Uint8Array>;
		};
	};
	Variables: {
		/** Whose pages these are. */
		network: NetworkFace;
		/** How far its set-up is; null for whoever is not offered it. */
		readSetUp(): Promise<SetUpProgress | null>;
		visitor: Visitor;
		/** Null for somebody who is not signed in. Pages behind the sign-in ask `viewerOf`. */
		viewer: Viewer | null;
		/** The session's id, to tell it from the person's others. */
		sessionId: string | null;
		/** When the session began; null without one. */
		signedInAtMs: number | null;
		/** Below /programmes/:programmeId; pages there ask `programmeOf`. */
		programme: Programme;
		/** What the viewer is to it; pages there ask `may`. */
		standing: Standing;
		/** The programme as it stands in the frame around its pages. */
		readFrame(programme: Programme): Promise<DocumentProgramme>;
		formGuard: FormGuard;
		/** Of a form that may bring a file: it, nothing, or why it was not taken. */
		upload: Result<Upload | null> | undefined;
		flashCookie: FlashCookie;
		/** Once it was asked for: the message of the last form, or null when there is none or it has been shown. */
		flash: Flash | null | undefined;
		allowsPrivateRanges: boolean;
		/** About the installation; empty for everybody but staff. */
		warnings: readonly Warning[];
	};
}

export type WebContext = Context<WebEnv>;
