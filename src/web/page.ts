// What a page works with: its dependencies, its context, who is looking, the message of the
// last form, and the document that is answered.

import type { Context } from "hono";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import type { StatusCode } from "hono/utils/http-status";
import type { Admission } from "../concurrency/admission.ts";
import type { EarnedTallies, NetworkTallies, Tallies } from "../conversions/tally.ts";
import type { AddressRange } from "../domain/address.ts";
import type { Fault, Result } from "../domain/fault.ts";
import {
	grants,
	isAuthenticatorRequired,
	type Right,
	type StaffAuthenticator,
	type Standing,
} from "../domain/roles.ts";
import type { Warning } from "../domain/warning.ts";
import type { MailDispatcher } from "../mail/dispatcher.ts";
import type { SignedInPerson } from "../people/actor.ts";
import type { Auth, AuthSession, Visitor } from "../people/auth.ts";
import type { AccountsDeps } from "../people/deps.ts";
import { areCookiesSecure, cookieName, createSigner } from "../people/signed-cookies.ts";
import type { AddressPolicy, Log, Mailer, RequestRecord, TemporaryFiles, Transport } from "../ports.ts";
import type { KnownNetwork, NetworkFace } from "../store/queries/known-network.ts";
import { listPartnersOf, type Partner } from "../store/queries/partners.ts";
import { findPersonByPublicId } from "../store/queries/people.ts";
import { findProgrammeOf, listProgrammesOf } from "../store/queries/programme-people.ts";
import { findProgramme, type Programme } from "../store/queries/programmes.ts";
import type { Db } from "../store/store.ts";
import type { InstallationWatch } from "../watch/installation-watch.ts";
import {
	type Area,
	type DocumentProgramme,
	type Flash,
	renderDocument,
	renderPlainDocument,
	STAFF_AREAS,
	type Viewer,
} from "./document.ts";
import { type Content, type Html, html, message } from "./ui.ts";

export interface WebDeps extends AccountsDeps {
	auth: Auth;
	mails: MailDispatcher;
	/** For a test mail, of which somebody waits to hear; null without SMTP_URL. */
	mailer: Mailer | null;
	log: Log;
	/** What pages are called and look like; its brand names the signature headers: X-<brand>-Signature. */
	network: KnownNetwork;
	/** The address people open, without a slash at its end. */
	publicUrl: string;
	/** Whether somebody has set it, or it is only where the service listens. */
	isPublicUrlSet: boolean;
	/** What partners' links begin with: the same address, or that of a host for them alone. */
	clickUrl: string;
	/** How long records are kept that go one day, such as clicks by the hour. */
	retentionDays: number;
	/** The development setting that lets callbacks go to private addresses is on: every page says so. */
	allowsPrivateRanges: boolean;
	/** Notices how people reach the service, and tells staff what to put right. */
	installation: InstallationWatch;
	/** Whether staff must have an authenticator before they can do anything. */
	staffAuthenticator: StaffAuthenticator;
	/** Whose X-Forwarded-For is believed. */
	trustedProxies: readonly AddressRange[];
	/** Judges a Postback URL as every delivery will. */
	transport: Pick<Transport, "lookUp">;
	addressPolicy: AddressPolicy;
	/** Limits the pages, forms, uploads and downloads that are served at once. */
	admission: Admission;
	/** Where uploads go before anything reads them. */
	temporaryFiles: TemporaryFiles;
	/** Told when many decisions, or a file to import, wait to be worked on. */
	jobs: { wake(): void };
	/** What this process is. */
	system: { instance: string; version: string };
	/** Aborted when the service stops: whoever is only watching is not waited for. */
	stopSignal?: AbortSignal | undefined;
}

/** With what the pages keep between two requests; made once, in site.ts. */
export interface PageDeps extends WebDeps {
	/** Sums of a programme, of the network and of partners, counted in the background. */
	tallies: Tallies;
	networkTallies: NetworkTallies;
	earnedTallies: EarnedTallies;
}

// What every page finds in its context: who is looking, and what the last form came to.

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
		/** What takes long tells the listener so (outside/connection-guard). */
		outgoing?: { emit(event: "takesLong"): unknown };
	};
	Variables: {
		/** Whose pages these are. */
		network: NetworkFace;
		visitor: Visitor;
		/** Null for somebody who is not signed in. Pages behind the sign-in ask `viewerOf`. */
		viewer: Viewer | null;
		/** The session's id, to tell it from the person's others. */
		sessionId: string | null;
		/** Below /programmes/:programmeId; pages there ask `programmeOf`. */
		programme: Programme;
		/** What the viewer is to it; pages there ask `may`. */
		standing: Standing;
		/** Below /partner/:partnerId; pages there ask `partnerOf`. */
		partner: Partner;
		/** The programme as it stands in the frame around its pages. */
		readFrame(programme: Programme): Promise<DocumentProgramme>;
		/** Of a form that may bring a file: it, nothing, or why it was not taken. */
		upload: Result<Upload | null> | undefined;
		flashCookie: ReturnType<typeof createFlashCookie>;
		/** Once it was asked for: the message of the last form, or null when there is none or it has been shown. */
		flash: Flash | null | undefined;
		allowsPrivateRanges: boolean;
		/** About the installation; empty for everybody but staff. */
		warnings: readonly Warning[];
	};
}

export type WebContext = Context<WebEnv>;

// A page as an answer: the document around it knows the reader, the programme of the address, and the message of
// the last form.

interface Page {
	title: string;
	body: Content;
	/** 200, or as the form that was refused has set it. */
	status?: number | undefined;
}

/** A stranger, who may read the documentation, is given no cookie: their copy may be kept for others. */
export async function answerPage(
	c: WebContext,
	page: Page & {
		active: Area;
		/** True where nothing of the programme or partner in the address is to be told, not even its name. */
		isOutsideProgramme?: boolean;
	},
): Promise<Response> {
	const { title, active, body, status } = page;
	const isOutside = page.isOutsideProgramme === true;
	const programme: Programme | undefined = isOutside ? undefined : c.get("programme");
	const viewer = c.get("viewer");
	const network = c.get("network");
	const isSetUp = viewer?.kind === "staff" && network.setUpEndedAtMs === null;
	const document = renderDocument({
		title,
		network,
		viewer,
		active,
		programme: programme === undefined ? undefined : await c.get("readFrame")(programme),
		partner: isOutside ? undefined : c.get("partner"),
		flash: viewer === null ? null : readFlash(c),
		allowsPrivateRanges: viewer !== null && c.get("allowsPrivateRanges"),
		// While there is the set-up, that mail is off is one of its steps.
		warnings: c.get("warnings").filter(({ kind }) => !isSetUp || kind !== "mail_off"),
		isSetUpOffered: isSetUp && STAFF_AREAS.includes(active) && active !== "network",
		body,
	});
	return answerHtml(c, await document, status);
}

/** For signing in and everything before it: below its heading, which is the title unless it has another. */
export async function answerPlainPage(c: WebContext, page: Page & { heading?: string }): Promise<Response> {
	const { title, heading = title, status } = page;
	const body = html`<h1>${heading}</h1>${page.body}`;
	const document = renderPlainDocument({ title, network: c.get("network"), flash: readFlash(c), body });
	return answerHtml(c, await document, status);
}

function answerHtml(
	c: WebContext,
	document: string,
	status: number | undefined,
): Response | Promise<Response> {
	if (status !== undefined) c.status(status as StatusCode);
	return c.html(document);
}

// Who is looking at a page.

/** Enough to know whether there is another one to switch to. */
const PROGRAMMES_COUNTED = 2;

/** Null for somebody who is no longer welcome: their session is worth nothing from that moment on. */
export async function loadViewer(
	{ store: { db }, staffAuthenticator }: Pick<WebDeps, "store" | "staffAuthenticator">,
	{ personPublicId, hasAuthenticator }: Pick<AuthSession, "personPublicId" | "hasAuthenticator">,
): Promise<Viewer | null> {
	const person = await findPersonByPublicId(db, personPublicId);
	if (person === undefined || person.deactivated_at_ms !== null) return null;
	const { id: personId, public_id: publicId, email, name, kind, zone, locale } = person;
	const own = kind === "staff" ? [] : await listProgrammesOf(db, personId, PROGRAMMES_COUNTED);
	const awaitsAuthenticator = !hasAuthenticator && isAuthenticatorRequired(staffAuthenticator, kind);
	const programmeCount = own.length;
	const partners = kind === "staff" ? [] : await listPartnersOf(db, personId);
	const settings = { email, name, kind, zone, locale };
	return { personId, publicId, ...settings, programmeCount, partners, hasAuthenticator, awaitsAuthenticator };
}

/** Undefined when there is no such programme, or it is none of theirs. */
export async function findProgrammeFor(
	db: Db,
	{ kind, personId }: Pick<Viewer, "kind" | "personId">,
	publicId: string,
): Promise<Pick<WebEnv["Variables"], "programme" | "standing"> | undefined> {
	if (kind === "staff") {
		const programme = await findProgramme(db, publicId);
		return programme === undefined ? undefined : { programme, standing: "staff" };
	}
	const found = await findProgrammeOf(db, personId, publicId);
	return found === undefined ? undefined : { programme: found.programme, standing: found.role };
}

/** For pages behind the sign-in. */
export function viewerOf(c: WebContext): Viewer {
	const viewer = c.get("viewer");
	if (viewer === null || viewer === undefined) throw new Error("a page that is not behind the sign-in");
	return viewer;
}

/** On pages for everybody: staff who may open all that is staff's. */
export function isStaffViewer(c: WebContext): boolean {
	const viewer = c.get("viewer");
	return viewer?.kind === "staff" && !viewer.awaitsAuthenticator;
}

/** For what must not be done any more once the viewer has been signed out, even a moment ago. */
export function makerOf(c: WebContext): SignedInPerson {
	const sessionId = c.get("sessionId");
	if (sessionId === null) throw new Error("a page that is not behind the sign-in");
	const { personId, kind } = viewerOf(c);
	return { personId, kind, sessionId };
}

/** For pages below /programmes/:programmeId: this viewer is one of its people, or staff. */
export function programmeOf(c: WebContext): Programme {
	return ofAddress(c, "programme");
}

/** For pages below /partner/:partnerId: this viewer signs in for it, or is staff. */
export function partnerOf(c: WebContext): Partner {
	return ofAddress(c, "partner");
}

/** What the viewer is to that programme. */
export function standingOf(c: WebContext): Standing {
	return ofAddress(c, "standing");
}

function ofAddress<Name extends "programme" | "partner" | "standing">(c: WebContext, name: Name) {
	const value: WebEnv["Variables"][Name] | undefined = c.get(name);
	if (value === undefined) throw new Error(`a page whose address has no ${name}`);
	return value;
}

/** Whether the viewer may do it in that programme: what somebody may not do is not offered to them. */
export function may(c: WebContext, right: Right): boolean {
	return grants(standingOf(c), right);
}

// A message for the next page, after a form was taken: in a signed cookie that lives a minute and is shown once, at the
// part of the page that it is about. Never for secrets: those are shown in the answer itself.

const FLASH_SECONDS = 60;
/** A cookie has room for 4,096 bytes, and base64 takes a third more. */
const MAX_TEXT_LENGTH = 800;

/** How a form ends: the page it leads to says what it came to. */
export function leadTo(c: WebContext, path: string, text: string, tone: Flash["tone"] = "good"): Response {
	setFlash(c, tone, text);
	return c.redirect(path, 303);
}

/** Shows the page again, and above it why something that is no form with fields was refused. */
export function tellRefusal<Answer>(c: WebContext, { fault }: { fault: Fault }, show: () => Answer): Answer {
	c.set("flash", { tone: "bad", text: fault.detail });
	c.status(fault.httpStatus as StatusCode);
	return show();
}

/** `at`: the id of the part that it is about. The redirect must lead there, or nobody sees it. */
export function setFlash(c: WebContext, tone: Flash["tone"], text: string, at?: string): void {
	c.get("flashCookie").set(c, { tone, text, at });
}

/** What the last form came to, if it is about this part of the page. */
export function flashAt(c: WebContext, part: string): Html | null {
	const flash = readFlash(c);
	if (flash === null || flash.at !== part) return null;
	c.set("flash", null);
	return message(flash.tone, flash.text);
}

/** What no part of the page has shown yet. */
function readFlash(c: WebContext): Flash | null {
	const known: Flash | null | undefined = c.get("flash");
	if (known !== undefined) return known;
	// A part that is fetched again takes no message away that is meant for a page.
	if (c.req.header("if-none-match") !== undefined) return null;
	// Forgotten as it is read; an error page may come before there is a cookie to ask.
	const taken = c.get("flashCookie")?.take(c) ?? null;
	c.set("flash", taken);
	return taken;
}

export function createFlashCookie({ sealingKey, publicUrl }: WebDeps) {
	const signer = createSigner(sealingKey, "flash");
	const name = cookieName(publicUrl, "flash");
	// Scripts cannot read it, and it is kept for this host alone.
	const secure = areCookiesSecure(publicUrl);
	const options = { path: "/", httpOnly: true, sameSite: "Lax", secure } as const;
	return {
		set(c: WebContext, { tone, text, at }: Flash): void {
			const json = JSON.stringify({ tone, text: text.slice(0, MAX_TEXT_LENGTH), at });
			const body = Buffer.from(json).toString("base64url");
			setCookie(c, name, `${body}.${signer.sign(body)}`, { ...options, maxAge: FLASH_SECONDS });
		},
		/** Forgets it, too. */
		take(c: WebContext): Flash | null {
			const cookie = getCookie(c, name);
			if (cookie === undefined) return null;
			deleteCookie(c, name, options);
			const [body = "", signature = ""] = cookie.split(".");
			// What is signed was written above.
			return signer.isSignature(signature, body)
				? JSON.parse(Buffer.from(body, "base64url").toString())
				: null;
		},
	};
}

export function handOnCookies(c: WebContext, setCookies: readonly string[]): void {
	for (const cookie of setCookies) c.header("set-cookie", cookie, { append: true });
}
