// What every page needs: its dependencies and context, the viewer, the message of the last form, and the answer.

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
import type { Auth, Visitor } from "../people/auth.ts";
import type { AccountsDeps } from "../people/deps.ts";
import { areCookiesSecure, cookieName, createSigner } from "../people/signed-cookies.ts";
import type { AddressPolicy, Log, Mailer, RequestRecord, TemporaryFiles, Transport } from "../ports.ts";
import type { KnownNetwork, NetworkFace } from "../store/queries/known-network.ts";
import { listPartnersOf, type Partner } from "../store/queries/partners.ts";
import { findPersonById } from "../store/queries/people.ts";
import { findProgrammeOf, listProgrammesOf } from "../store/queries/programme-people.ts";
import { findProgramme, type Programme } from "../store/queries/programmes.ts";
import type { Session } from "../store/queries/sessions.ts";
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
	/** Sends a test mail while the page waits. Null without SMTP_URL. */
	mailer: Mailer | null;
	log: Log;
	/** The network's name, look and brand. The brand is part of the header names: X-<brand>-Signature. */
	network: KnownNetwork;
	/** The address that people open, without a slash at the end. */
	publicUrl: string;
	/** False if the address is only a default, where the service listens. */
	isPublicUrlSet: boolean;
	/** The start of partners' links: the public address, or the address of a separate host. */
	clickUrl: string;
	/** Number of days after which records such as clicks are removed. */
	retentionDays: number;
	/** True if callbacks may go to private addresses. Every page shows this development setting. */
	allowsPrivateRanges: boolean;
	/** Watches how people reach the service, and warns staff about wrong settings. */
	installation: InstallationWatch;
	/** Says whether staff must have an authenticator. */
	staffAuthenticator: StaffAuthenticator;
	/** Proxies whose X-Forwarded-For header is trusted. */
	trustedProxies: readonly AddressRange[];
	/** Checks a Postback URL in the same way as every delivery does. */
	transport: Pick<Transport, "lookUp">;
	addressPolicy: AddressPolicy;
	/** Limits the pages, forms, uploads and downloads that are served at once. */
	admission: Admission;
	/** Stores uploads until they are read. */
	temporaryFiles: TemporaryFiles;
	/** Woken when a file with decisions or an import waits for processing. */
	jobs: { wake(): void };
	/** Name and version of this process. */
	system: { instance: string; version: string };
	/** Aborted when the service stops, so that long-lived reads end at once. */
	stopSignal?: AbortSignal | undefined;
}

/** The dependencies, and the state that pages keep between requests. It is created once, in site.ts. */
export interface PageDeps extends WebDeps {
	/** Sums of a programme, of the network and of partners, counted in the background. */
	tallies: Tallies;
	networkTallies: NetworkTallies;
	earnedTallies: EarnedTallies;
}

// The context of a request.

/** An uploaded file. It exists until the request has been answered. */
export interface Upload {
	/** The file name that the browser sent. */
	name: string;
	bytes: number;
	/** Reads the file from its first byte. It can be called several times. */
	read(): AsyncIterable<Uint8Array>;
}

/** `incoming` is set by @hono/node-server and missing if a test makes the request in process. */
export interface WebEnv {
	Bindings: {
		incoming?: {
			url?: string | undefined;
			socket?: { remoteAddress?: string | undefined } | undefined;
			/** Counts and logs the request. */
			record?: RequestRecord;
			/** Reads the body in chunks. */
			[Symbol.asyncIterator]?(): AsyncIterator<Uint8Array>;
		};
		/** Tells the connection guard that an answer takes long (outside/connection-guard). */
		outgoing?: { emit(event: "takesLong"): unknown };
	};
	Variables: {
		/** The network to which the pages belong. */
		network: NetworkFace;
		visitor: Visitor;
		/** Null for a visitor who is not signed in. Pages that need a sign-in call `viewerOf`. */
		viewer: Viewer | null;
		/** The id of this session, to distinguish it from the person's other sessions. */
		sessionId: string | null;
		/** Set below /programmes/:programmeId. Pages there call `programmeOf`. */
		programme: Programme;
		/** The viewer's role in the programme. Pages of a programme call `may` to check a right. */
		standing: Standing;
		/** Set below /partner/:partnerId. Pages there call `partnerOf`. */
		partner: Partner;
		/** Reads what the frame shows of a programme. */
		readFrame(programme: Programme): Promise<DocumentProgramme>;
		/** The uploaded file of a form, null if none was chosen, or the reason why it was refused. */
		upload: Result<Upload | null> | undefined;
		flashCookie: ReturnType<typeof createFlashCookie>;
		/** The message of the last form, or null if there is none or it was already shown. Undefined until it is first read. */
		flash: Flash | null | undefined;
		allowsPrivateRanges: boolean;
		/** Warnings about the installation. The list is empty for everybody except staff. */
		warnings: readonly Warning[];
		/** Number of shop addresses that wait for staff. It is 0 for everybody else. */
		waitingAddresses: number;
	};
}

export type WebContext = Context<WebEnv>;

// The answer with a page, in a document that shows the viewer, the programme and the message of the last form.

interface Page {
	title: string;
	body: Content;
	/** The HTTP status. The default is 200, or the status of a refused form. */
	status?: number | undefined;
}

/** Answers with a page. A visitor who is not signed in gets no cookie, because caches may store the page. */
export async function answerPage(
	c: WebContext,
	page: Page & {
		active: Area;
		/** True if the page must not show anything of the programme or partner in the address, not even its name. */
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
		waitingAddresses: c.get("waitingAddresses"),
		// During the set-up, mail is one of its steps and needs no warning.
		warnings: c.get("warnings").filter(({ kind }) => !isSetUp || kind !== "mail_off"),
		isSetUpOffered: isSetUp && STAFF_AREAS.includes(active) && active !== "network",
		body,
	});
	return answerHtml(c, await document, status);
}

/** Answers with a page before sign-in. By default its heading is the title. */
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

// The viewer of a page.

/** Two are enough to know whether there is another programme to switch to. */
const PROGRAMMES_COUNTED = 2;

/** Returns null if the person's access has ended. Their sessions end at the same moment. */
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

/** Returns undefined if there is no such programme, or if the viewer has no access to it. */
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

/** Returns the viewer of a page that needs a sign-in. */
export function viewerOf(c: WebContext): Viewer {
	const viewer = c.get("viewer");
	if (viewer === null || viewer === undefined) throw new Error("a page that is not behind the sign-in");
	return viewer;
}

/** Returns true for staff who may open the pages of staff. It is for pages that everybody may open. */
export function isStaffViewer(c: WebContext): boolean {
	const viewer = c.get("viewer");
	return viewer?.kind === "staff" && !viewer.awaitsAuthenticator;
}

/** Returns the signed-in person for a use case, which checks the session again in its transaction. */
export function actorOf(c: WebContext): SignedInPerson {
	const sessionId = c.get("sessionId");
	if (sessionId === null) throw new Error("a page that is not behind the sign-in");
	const { personId, kind } = viewerOf(c);
	return { personId, kind, sessionId };
}

/** Returns the programme of a page below /programmes/:programmeId. The viewer has access to it. */
export function programmeOf(c: WebContext): Programme {
	return ofAddress(c, "programme");
}

/** Returns the partner of a page below /partner/:partnerId. The viewer belongs to it or is staff. */
export function partnerOf(c: WebContext): Partner {
	return ofAddress(c, "partner");
}

/** Returns the viewer's role in the programme. */
export function standingOf(c: WebContext): Standing {
	return ofAddress(c, "standing");
}

function ofAddress<Name extends "programme" | "partner" | "standing">(c: WebContext, name: Name) {
	const value: WebEnv["Variables"][Name] | undefined = c.get(name);
	if (value === undefined) throw new Error(`a page whose address has no ${name}`);
	return value;
}

/** Returns true if the viewer has the right in the programme. Pages show only what the viewer may do. */
export function may(c: WebContext, right: Right): boolean {
	return grants(standingOf(c), right);
}

// A message for the next page, after a form was accepted. It is in a signed cookie that lives for a minute,
// and is shown once, in the section of the form. It must not contain secrets. Those are shown only in the
// direct answer to their form.

const FLASH_SECONDS = 60;
/** Maximum length of the text. A cookie may have 4,096 bytes, and base64 adds a third. */
const MAX_TEXT_LENGTH = 800;

/** Redirects after a form. The next page shows the text. */
export function leadTo(c: WebContext, path: string, text: string, tone: Flash["tone"] = "good"): Response {
	setFlash(c, tone, text);
	return c.redirect(path, 303);
}

/** Shows the page again with the reason of a refusal at the top. It is for buttons, which have no fields. */
export function tellRefusal<Answer>(c: WebContext, { fault }: { fault: Fault }, show: () => Answer): Answer {
	c.set("flash", { tone: "bad", text: fault.detail });
	c.status(fault.httpStatus as StatusCode);
	return show();
}

/** `at` is the id of the section that shows the message. The redirect must lead to a page with this section. */
export function setFlash(c: WebContext, tone: Flash["tone"], text: string, at?: string): void {
	c.get("flashCookie").set(c, { tone, text, at });
}

/** Returns the message of the last form if it belongs to this section. */
export function flashAt(c: WebContext, part: string): Html | null {
	const flash = readFlash(c);
	if (flash === null || flash.at !== part) return null;
	c.set("flash", null);
	return message(flash.tone, flash.text);
}

/** Returns the message if no section has shown it yet. */
function readFlash(c: WebContext): Flash | null {
	const flash: Flash | null | undefined = c.get("flash");
	if (flash !== undefined) return flash;
	// A poll for live parts must not consume the message of the next page.
	if (c.req.header("if-none-match") !== undefined) return null;
	// Reading removes the cookie. An error page may be rendered before the cookie is set up.
	const read = c.get("flashCookie")?.take(c) ?? null;
	c.set("flash", read);
	return read;
}

export function createFlashCookie({ sealingKey, publicUrl }: WebDeps) {
	const signer = createSigner(sealingKey, "flash");
	const name = cookieName(publicUrl, "flash");
	// Scripts cannot read the cookie, and other hosts do not get it.
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
			// A signed text was written by `set`, so its form is known.
			return signer.isSignature(signature, body)
				? JSON.parse(Buffer.from(body, "base64url").toString())
				: null;
		},
	};
}

export function handOnCookies(c: WebContext, setCookies: readonly string[]): void {
	for (const cookie of setCookies) c.header("set-cookie", cookie, { append: true });
}
