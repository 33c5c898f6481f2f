// A click on a partner link: how the request is answered, and where it may lead. Nothing about the visitor is stored.

/** Kinds in which clicks are counted. Only the first one gets a click ID. */
export const CLICK_KINDS = ["click", "crawler", "prefetch", "embedded", "ended", "target"] as const;
/** `target` is counted in addition to another kind, for a click whose own target is not on the programme's list. */
export type ClickKind = (typeof CLICK_KINDS)[number];

export interface ClickRequest {
	method: string;
	header(name: string): string | undefined;
	isCrawler(userAgent: string): boolean;
}

export interface ClickVerdict {
	/** 302 leads to the target. After 503 the browser asks again when the person really opens the page. */
	httpStatus: 302 | 503 | 204;
	counted: Exclude<ClickKind, "target">;
}

/** Headers with which browsers announce that they load a page before anybody clicks. */
const PREFETCH_HEADERS = ["sec-purpose", "purpose", "x-purpose", "x-moz"] as const;
const AHEAD = /prefetch|prerender|preview/i;

export function judgeClick({ method, header, isCrawler }: ClickRequest, isActive: boolean): ClickVerdict {
	for (const name of PREFETCH_HEADERS) {
		const value = header(name);
		if (value !== undefined && AHEAD.test(value)) return { httpStatus: 503, counted: "prefetch" };
	}
	// An image or a frame loads the link by itself, without a click.
	const destination = header("sec-fetch-dest");
	if (destination !== undefined && destination !== "document") {
		return { httpStatus: 204, counted: "embedded" };
	}
	const userAgent = header("user-agent") ?? "";
	if (method === "HEAD" || userAgent === "" || isCrawler(userAgent)) {
		return { httpStatus: 302, counted: "crawler" };
	}
	return { httpStatus: 302, counted: isActive ? "click" : "ended" };
}

export interface LandingHost {
	/** The host name in the form that the URL parser returns. */
	host: string;
	withSubdomains: boolean;
}

/** Returns the host as people enter and read it. */
export function sayHost({ host, withSubdomains }: LandingHost): string {
	return `${withSubdomains ? "*." : ""}${host}`;
}

/** Maximum length of a URL that every proxy forwards. */
const MAX_TARGET_LENGTH = 2_048;

/** Returns the parsed address, or null if a link may not lead there. */
export function landingUrl(text: string, hosts: readonly LandingHost[]): URL | null {
	const url = text.length > MAX_TARGET_LENGTH ? null : URL.parse(text);
	if (url?.protocol !== "https:" || url.username !== "" || url.password !== "" || url.port !== "")
		return null;
	// Checked again, because the parser may have encoded one letter as six characters.
	if (url.href.length > MAX_TARGET_LENGTH) return null;
	return hosts.some((landing) => isAt(url.hostname, landing)) ? url : null;
}

function isAt(hostname: string, { host, withSubdomains }: LandingHost): boolean {
	if (hostname === host) return true;
	// The parser accepts a host name that begins with a dot, but nobody can own one.
	return withSubdomains && hostname.endsWith(`.${host}`) && !hostname.startsWith(".");
}

/**
 * Returns where links lead if the shop has removed their host from its list. Visitors still reach the shop, and the partner
 * is still credited. Returns null if the list is empty.
 */
export function frontPage([first]: readonly LandingHost[]): URL | null {
	return first === undefined ? null : new URL(`https://${first.host}/`);
}

export interface Landing {
	/** The address for visitors who get no click ID. */
	href: string;
	/** The click ID goes between `beforeId` and `afterId`. It has no character that needs encoding. */
	beforeId: string;
	afterId: string;
}

/** Returns the address of the shop's page, split where the click ID goes. An old click ID in the address is removed. */
export function landingAt(url: URL, parameter: string): Landing {
	if (url.searchParams.has(parameter)) url.searchParams.delete(parameter);
	const { href, hash: afterId, search } = url;
	// Set even if they are empty, because "/x?" keeps a question mark that "/x" does not have.
	url.hash = "";
	url.search = search === "" ? "?" : `${search}&`;
	return { href, beforeId: `${url.href}${new URLSearchParams({ [parameter]: "" })}`, afterId };
}

/** Default name of the parameter that brings the click ID to the shop's page. A programme can choose another one. */
export const CLICK_PARAMETER = "rbclick";

export const CODE_PATTERN = /^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/;
