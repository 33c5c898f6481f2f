// Decides how a click on a partner link is answered, and where the link may lead. Nothing about the visitor
// is stored.

/** The kinds of requests that are counted for a partner link. Only "click" gets a click ID. */
export const CLICK_KINDS = ["click", "crawler", "prefetch", "embedded", "ended", "target"] as const;
/**
 * A kind of request that is counted. "target" is counted in addition to another kind, if the target that the
 * click asks for is not on the programme's list.
 */
export type ClickKind = (typeof CLICK_KINDS)[number];

export interface ClickRequest {
	method: string;
	header(name: string): string | undefined;
	isCrawler(userAgent: string): boolean;
}

export interface ClickVerdict {
	/**
	 * 302 redirects to the target. 503 refuses a prefetch, so the browser asks again when the person really
	 * opens the page.
	 */
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
	// If an image or a frame loads the link, nobody clicked on it.
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
	/** The host name in the form that the URL parser returns. In development it may have a port. */
	host: string;
	withSubdomains: boolean;
}

/** Returns the host as people enter and read it, with "*." if subdomains are included. */
export function sayHost({ host, withSubdomains }: LandingHost): string {
	return `${withSubdomains ? "*." : ""}${host}`;
}

/** Maximum length of a target URL. Every proxy forwards URLs of this length. */
export const MAX_TARGET_LENGTH = 2_048;

/** Parses the target address of a link. Returns null if a link of this programme may not lead there. */
export function landingUrl(text: string, hosts: readonly LandingHost[]): URL | null {
	const url = text.length > MAX_TARGET_LENGTH ? null : URL.parse(text);
	if (url?.protocol !== "https:" || url.username !== "" || url.password !== "") return null;
	// The length is checked again, because the parser may have encoded one letter as six characters.
	if (url.href.length > MAX_TARGET_LENGTH) return null;
	return hosts.some((landing) => isAt(url.host, landing)) ? url : null;
}

/**
 * Returns whether the host of a URL belongs to the landing host. `urlHost` contains the port unless it is the
 * default one.
 */
function isAt(urlHost: string, { host, withSubdomains }: LandingHost): boolean {
	if (urlHost === host) return true;
	// The parser accepts a host name that begins with a dot, but nobody can own one.
	return withSubdomains && urlHost.endsWith(`.${host}`) && !urlHost.startsWith(".");
}

/**
 * Returns the front page of the first host. Links lead there if the shop has removed their host from its
 * list, so visitors still reach the shop and the partner is still credited. Returns null if the list is
 * empty.
 */
export function frontPage([first]: readonly LandingHost[]): URL | null {
	return first === undefined ? null : new URL(`https://${first.host}/`);
}

export interface Landing {
	/** The address for visitors who get no click ID. */
	href: string;
	/** The address before the place where the click ID is inserted. The click ID needs no encoding. */
	beforeId: string;
	afterId: string;
}

/**
 * Returns the address of the shop's page, split at the place of the click ID. An old click ID in the address
 * is removed.
 */
export function landingAt(url: URL, parameter: string): Landing {
	if (url.searchParams.has(parameter)) url.searchParams.delete(parameter);
	const { href, hash: afterId, search } = url;
	// Hash and query are replaced even if they are empty, because the parser keeps a bare "#" or "?" at the end
	// of an address.
	url.hash = "";
	url.search = search === "" ? "?" : `${search}&`;
	return { href, beforeId: `${url.href}${new URLSearchParams({ [parameter]: "" })}`, afterId };
}

/** Form of the link codes that partners choose. */
export const CODE_PATTERN = /^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/;

/**
 * Form of all link codes, including those that other software made and that were imported. None of these
 * characters is encoded in the path of a URL, and no such code is a path segment with a meaning of its own, such
 * as "..". Codes ignore case, so a code has no capital letters here.
 */
export const ANY_CODE_PATTERN = /^[a-z0-9_-][a-z0-9._~-]{0,63}$/;
