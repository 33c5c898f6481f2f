// Provides the parts that every page needs: its dependencies, its context, the viewer, the message of the last form,
// and the answer.

import type { Context } from "hono";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import type { StatusCode } from "hono/utils/http-status";
import type { Admission } from "../../concurrency/admission.ts";
import type { InstallationWatch } from "../../watch/installation-watch.ts";
import type { ConversionsDeps } from "../conversions/deps.ts";
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
import type { Auth, Visitor } from "../people/auth.ts";
import type { AccountsDeps, CompanySignIn } from "../people/deps.ts";
import { areCookiesSecure, cookieName, createSigner } from "../people/signed-cookies.ts";
import type { AddressPolicy, Log, Mailer, RequestRecord, TemporaryFiles, Transport } from "../ports.ts";
import type { NetworkCache, NetworkFace } from "../store/network-cache.ts";
import { listPartnersOf } from "../store/queries/partner-people.ts";
import { findPersonById } from "../store/queries/people.ts";
import { findProgrammeOf, listProgrammesOf } from "../store/queries/programme-people.ts";
import { findProgramme, type Programme } from "../store/queries/programmes.ts";
import type { Session } from "../store/queries/sessions.ts";
import type { Db } from "../store/store.ts";
import type { Partner } from "../store/tables/partners.ts";
import { type Flash, renderDocument, renderPlainDocument, type Viewer } from "./document.ts";
import {
	type Area,
	type DocumentOwner,
	type DocumentPartner,
	isStaffArea,
	type Menus,
	type WaitingCounts,
} from "./menu.ts";
import { type Content, type Html, html, message } from "./ui.ts";

/** Dependencies of pages. A module may add its own by declaration merging, as it adds tables to `Schema`. */
export interface WebDeps extends AccountsDeps, ConversionsDeps {
	auth: Auth;
	mails: MailDispatcher;
	/** Sends the test mail directly and not through the queue. Null if SMTP_URL is not set. */
	mailer: Mailer | null;
	log: Log;
	/** The network's name, look and brand. The brand is part of header names such as X-<brand>-Signature. */
	network: NetworkCache;
	/** Address under which people open the site, without a slash at the end. */
	publicUrl: string;
	/** False if PUBLIC_URL is not set. The address is then only the one on which the service listens. */
	isPublicUrlSet: boolean;
	/** Start of every partner link, which is the public address or the address of a separate host. */
	clickUrl: string;
	/** Number of days after which records such as clicks are removed. */
	retentionDays: number;
	/** Number of years for which the statements of an erased partner still name both parties. */
	statementYears: number;
	/** True if callbacks may go to private addresses. Every page warns about this development setting. */
	allowsPrivateRanges: boolean;
	/** Watches how people reach the service, and warns staff about wrong settings. */
	installation: InstallationWatch;
	/** Sign-in with the company's account, or null if it is not set up. */
	companySignIn: CompanySignIn | null;
	/** Setting that says whether staff must have an authenticator. */
	staffAuthenticator: StaffAuthenticator;
	/** Proxies whose X-Forwarded-For header is trusted. */
	trustedProxies: readonly AddressRange[];
	/** Looks up the host of a Postback URL when it is saved, in the same way as before each delivery. */
	transport: Pick<Transport, "lookUp">;
	addressPolicy: AddressPolicy;
	/** Limits how many pages, forms, uploads and downloads are served at the same time. */
	admission: Admission;
	/** Sums of all programmes' conversions, counted in the background. The network's API shows them too. */
	networkTallies: NetworkTallies;
	/** Stores uploaded files until they are read. */
	temporaryFiles: TemporaryFiles;
	/** Background task for jobs. `wake` must be called when a job is waiting. */
	jobs: { wake(): void };
	/** Name and version of this process. */
	system: { instance: string; version: string };
	/** Signal that is aborted when the service stops, so that long-running reads end at once. */
	stopSignal?: AbortSignal | undefined;
}

/** Dependencies of pages, including caches that live longer than a request. site.ts creates this object once. */
export interface PageDeps extends WebDeps {
	/** Sums of a programme's conversions, counted in the background. */
	tallies: Tallies;
	earnedTallies: EarnedTallies;
	menus: Menus;
}

/** Uploaded file, which exists until the request has been answered. */
export interface Upload {
	/** File name that the browser sent. */
	name: string;
	bytes: number;
	/** Reads the file from its first byte, and may be called several times. */
	read(): AsyncIterable<Uint8Array>;
}

/**
 * Types of Hono's context. @hono/node-server sets `incoming` and `outgoing`, which are missing if a test calls the app
 * directly.
 */
export interface WebEnv {
	Bindings: {
		incoming?: {
			url?: string | undefined;
			socket?: { remoteAddress?: string | undefined } | undefined;
			/** Record of this request for metrics and the log. */
			record?: RequestRecord;
			/** Reads the body in chunks. */
			[Symbol.asyncIterator]?(): AsyncIterator<Uint8Array>;
		};
		/**
		 * Node's response object. The event "takesLong" tells outside/connection-guard.ts that this request may
		 * take long.
		 */
		outgoing?: { emit(event: "takesLong"): unknown };
	};
	Variables: {
		/** Network to which the pages belong. */
		network: NetworkFace;
		menus: Menus;
		visitor: Visitor;
		/** Signed-in person, or null for a visitor who is not signed in. Pages that require a sign-in call `viewerOf`. */
		viewer: Viewer | null;
		/** Id of the current session, which tells it apart from the person's other sessions. */
		sessionId: string | null;
		/** The programme of an address below /programmes/:programmeId. Pages get it with `programmeOf`. */
		programme: Programme;
		/** The viewer's role in the programme. Pages check a right with `may`. */
		standing: Standing;
		/** The partner of an address below /partner/:partnerId. Pages get it with `partnerOf`. */
		partner: Partner;
		/** Reads the data of a programme that the frame of its pages shows. */
		readFrame(programme: Programme): Promise<DocumentOwner>;
		/** Reads the data of a partner that the frame of its pages shows. */
		readPartnerFrame(partner: Partner): Promise<DocumentPartner>;
		/** Uploaded file of a form. Null if no file was chosen, or the fault with which the file was refused. */
		upload: Result<Upload | null> | undefined;
		flashCookie: ReturnType<typeof createFlashCookie>;
		/**
		 * Message of the last form. Null if there is none or it was already shown, and undefined before it is read from
		 * its cookie.
		 */
		flash: Flash | null | undefined;
		allowsPrivateRanges: boolean;
		/** Warnings about the installation. Empty if the viewer is not staff. */
		warnings: readonly Warning[];
		/** Numbers of things that staff must answer. Empty if the viewer is not staff. */
		waiting: WaitingCounts;
	};
}

export type WebContext = Context<WebEnv>;

// Content of a page. The document around it shows the viewer, the programme and the message of the last form.

interface Page {
	title: string;
	body: Content;
	/** HTTP status. The default is 200, or the status of a refused form. */
	status?: number | undefined;
}

/** Responds with a page. A page for a visitor who is not signed in gets no cookie, because caches may store it. */
export async function answerPage(
	c: WebContext,
	page: Page & {
		active: Area;
		/**
		 * True if the page must not reveal anything about the programme or partner in the address, not even its
		 * name.
		 */
		isOutsideProgramme?: boolean;
	},
): Promise<Response> {
	const { title, active, body, status } = page;
	const isOutside = page.isOutsideProgramme === true;
	const programme: Programme | undefined = isOutside ? undefined : c.get("programme");
	const partner: Partner | undefined = isOutside ? undefined : c.get("partner");
	const viewer = c.get("viewer");
	const network = c.get("network");
	const menus = c.get("menus");
	const isSetUp = viewer?.kind === "staff" && network.setUpEndedAtMs === null;
	const document = renderDocument({
		title,
		network,
		menus,
		viewer,
		active,
		programme: programme === undefined ? undefined : await c.get("readFrame")(programme),
		partner: partner === undefined ? undefined : await c.get("readPartnerFrame")(partner),
		flash: viewer === null ? null : readFlash(c),
		allowsPrivateRanges: viewer !== null && c.get("allowsPrivateRanges"),
		waiting: c.get("waiting"),
		// Mail is a step of the set-up, so the warning about missing mail is hidden until the set-up ends.
		warnings: c.get("warnings").filter(({ kind }) => !isSetUp || kind !== "mail_off"),
		isSetUpOffered: isSetUp && isStaffArea(menus, active) && active !== "network",
		body,
	});
	return answerHtml(c, await document, status);
}

/** Responds with a page that is shown before sign-in. The default heading is the title. */
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

/**
 * Maximum number of programmes that are counted. Two are enough to know whether the person can switch between
 * programmes.
 */
const PROGRAMMES_COUNTED = 2;

/** Loads the signed-in person of a session. Returns null if their access has ended. */
export async function loadViewer(
	{ store: { db }, staffAuthenticator }: Pick<WebDeps, "store" | "staffAuthenticator">,
	{ personId, hasAuthenticator }: Pick<Session, "personId" | "hasAuthenticator">,
): Promise<Viewer | null> {
	const person = await findPersonById(db, personId);
	if (person === undefined || person.deactivated_at_ms !== null) return null;
	const { public_id: publicId, email, name, kind, zone, locale } = person;
	const programmes = kind === "staff" ? [] : await listProgrammesOf(db, personId, PROGRAMMES_COUNTED);
	const awaitsAuthenticator = !hasAuthenticator && isAuthenticatorRequired(staffAuthenticator, kind);
	const programmeCount = programmes.length;
	const partners = kind === "staff" ? [] : await listPartnersOf(db, personId);
	const settings = { email, name, kind, zone, locale };
	return { personId, publicId, ...settings, programmeCount, partners, hasAuthenticator, awaitsAuthenticator };
}

/**
 * Finds a programme and the viewer's role in it. Returns undefined if there is no such programme, or if the
 * viewer has no access to it.
 */
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

/** Returns the signed-in person. Only pages that require a sign-in may call this. */
export function viewerOf(c: WebContext): Viewer {
	const viewer = c.get("viewer");
	if (viewer === null || viewer === undefined) throw new Error("a page that is not behind the sign-in");
	return viewer;
}

/**
 * Returns true if the viewer is staff and may open the pages for staff. Unlike `viewerOf`, this works on pages for
 * everybody.
 */
export function isStaffViewer(c: WebContext): boolean {
	const viewer = c.get("viewer");
	return viewer?.kind === "staff" && !viewer.awaitsAuthenticator;
}

/**
 * Returns the signed-in person in the form that use cases need. A use case checks the session again in its
 * own transaction.
 */
export function actorOf(c: WebContext): SignedInPerson {
	const sessionId = c.get("sessionId");
	if (sessionId === null) throw new Error("a page that is not behind the sign-in");
	const { personId, kind } = viewerOf(c);
	return { personId, kind, sessionId };
}

/**
 * Returns true if the viewer is on the staff, who must sign in with the company's account. Their password here only
 * confirms changes.
 */
export function usesCompanyAccount(
	c: WebContext,
	{ companySignIn }: Pick<WebDeps, "companySignIn">,
): boolean {
	return viewerOf(c).kind === "staff" && companySignIn?.isRequiredForStaff === true;
}

/**
 * Returns the programme of an address below /programmes/:programmeId. A guard has checked that the viewer has
 * access to it.
 */
export function programmeOf(c: WebContext): Programme {
	return ofAddress(c, "programme");
}

/**
 * Returns the partner of an address below /partner/:partnerId. A guard has checked that the viewer belongs to
 * it or is staff.
 */
export function partnerOf(c: WebContext): Partner {
	return ofAddress(c, "partner");
}

/** Returns the viewer's role in the programme of the address. */
export function standingOf(c: WebContext): Standing {
	return ofAddress(c, "standing");
}

function ofAddress<Name extends "programme" | "partner" | "standing">(c: WebContext, name: Name) {
	const value: WebEnv["Variables"][Name] | undefined = c.get(name);
	if (value === undefined) throw new Error(`a page whose address has no ${name}`);
	return value;
}

/** Returns true if the viewer has this right in the programme. Pages hide actions that the viewer may not take. */
export function may(c: WebContext, right: Right): boolean {
	return grants(standingOf(c), right);
}

// Lifetime of the message that the next page shows after a form. The message is in a signed cookie and is shown once.
// It must not contain secrets, which are shown only in the direct response to their form.

const FLASH_SECONDS = 60;
/** Maximum length of a message. A cookie may have 4,096 bytes, and base64 makes the text a third longer. */
const MAX_TEXT_LENGTH = 800;

/** Redirects after a form to a page that shows `text` as its message. */
export function leadTo(c: WebContext, path: string, text: string, tone: Flash["tone"] = "good"): Response {
	setFlash(c, tone, text);
	return c.redirect(path, 303);
}

/**
 * Shows the page again, with the reason for a refusal at the top. This is for forms without fields, such as a single
 * button.
 */
export function tellRefusal<Answer>(c: WebContext, { fault }: { fault: Fault }, show: () => Answer): Answer {
	c.set("flash", { tone: "bad", text: fault.detail });
	c.status(fault.httpStatus as StatusCode);
	return show();
}

/**
 * Sets the message for the next page. `at` is the id of the section that shows the message, so the next page must have
 * this section.
 */
export function setFlash(c: WebContext, tone: Flash["tone"], text: string, at?: string): void {
	c.get("flashCookie").set(c, { tone, text, at });
}

/** Returns the message of the last form if it belongs to this section, and marks it as shown. */
export function flashAt(c: WebContext, part: string): Html | null {
	const flash = readFlash(c);
	if (flash === null || flash.at !== part) return null;
	c.set("flash", null);
	return message(flash.tone, flash.text);
}

/** Returns the message of the last form, or null if there is none or if it was already shown. */
function readFlash(c: WebContext): Flash | null {
	const flash: Flash | null | undefined = c.get("flash");
	if (flash !== undefined) return flash;
	// A poll for live parts must not use up the message, because the next full page shows it.
	if (c.req.header("if-none-match") !== undefined) return null;
	// Reading the message removes its cookie. The cookie helper may be missing, because errors can occur before it is
	// set up.
	const read = c.get("flashCookie")?.take(c) ?? null;
	c.set("flash", read);
	return read;
}

export function createFlashCookie({ keyRing, publicUrl }: WebDeps) {
	const signer = createSigner(keyRing, "flash");
	const name = cookieName(publicUrl, "flash");
	// Scripts cannot read the cookie, and browsers do not send it to other hosts.
	const secure = areCookiesSecure(publicUrl);
	const options = { path: "/", httpOnly: true, sameSite: "Lax", secure } as const;
	return {
		set(c: WebContext, { tone, text, at }: Flash): void {
			const json = JSON.stringify({ tone, text: text.slice(0, MAX_TEXT_LENGTH), at });
			const body = Buffer.from(json).toString("base64url");
			setCookie(c, name, `${body}.${signer.sign(body)}`, { ...options, maxAge: FLASH_SECONDS });
		},
		/** Returns the message and removes the cookie. */
		take(c: WebContext): Flash | null {
			const cookie = getCookie(c, name);
			if (cookie === undefined) return null;
			deleteCookie(c, name, options);
			const [body = "", signature = ""] = cookie.split(".");
			// A valid signature proves that `set` wrote the text, so it can be parsed without further checks.
			return signer.isSignature(signature, body)
				? JSON.parse(Buffer.from(body, "base64url").toString())
				: null;
		},
	};
}

export function handOnCookies(c: WebContext, setCookies: readonly string[]): void {
	for (const cookie of setCookies) c.header("set-cookie", cookie, { append: true });
}
