// A click on a partner's link: what becomes of the request, and where it may lead. Nothing of who clicked is kept.

/** How clicks are counted; only the first kind gets a click id. */
export const CLICK_KINDS = ["click", "crawler", "prefetch", "embedded", "ended", "target"] as const;
/** `target` counts besides: clicks whose own target was not on the programme's list. */
export type ClickKind = (typeof CLICK_KINDS)[number];

export interface ClickRequest {
	method: string;
	header(name: string): string | undefined;
	isCrawler(userAgent: string): boolean;
}

export interface ClickVerdict {
	/** 302 leads to the target; with 503 the browser asks again once the person really goes there. */
	httpStatus: 302 | 503 | 204;
	counted: Exclude<ClickKind, "target">;
}

/** Browsers name it differently; any of them with this word means that nobody has clicked yet. */
const PREFETCH_HEADERS = ["sec-purpose", "purpose", "x-purpose", "x-moz"] as const;
const AHEAD = /prefetch|prerender|preview/i;

export function judgeClick({ method, header, isCrawler }: ClickRequest, isActive: boolean): ClickVerdict {
	for (const name of PREFETCH_HEADERS) {
		const value = header(name);
		if (value !== undefined && AHEAD.test(value)) return { httpStatus: 503, counted: "prefetch" };
	}
	// An image or a frame that loads a link by itself: nobody clicked.
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
	/** As the URL parser writes it. */
	host: string;
	withSubdomains: boolean;
}

/** As people enter and read it. */
export function sayHost({ host, withSubdomains }: LandingHost): string {
	return `${withSubdomains ? "*." : ""}${host}`;
}

/** What every proxy passes on. */
const MAX_TARGET_LENGTH = 2_048;

/** The address in the parser's own spelling; null where a link may not lead. */
export function landingUrl(text: string, hosts: readonly LandingHost[]): URL | null {
	const url = text.length > MAX_TARGET_LENGTH ? null : URL.parse(text);
	if (url?.protocol !== "https:" || url.username !== "" || url.password !== "" || url.port !== "")
		return null;
	// As it is sent: a letter may have become six.
	if (url.href.length > MAX_TARGET_LENGTH) return null;
	return hosts.some((landing) => isAt(url.hostname, landing)) ? url : null;
}

function isAt(hostname: string, { host, withSubdomains }: LandingHost): boolean {
	if (hostname === host) return true;
	// A name that begins with a dot is nobody's, though the parser lets it be.
	return withSubdomains && hostname.endsWith(`.${host}`) && !hostname.startsWith(".");
}

/**
 * Where links lead whose host the shop took off its list: their visitors are still led to the shop, and the partner is
 * still credited. Null where there is no host any more.
 */
export function frontPage([first]: readonly LandingHost[]): URL | null {
	return first === undefined ? null : new URL(`https://${first.host}/`);
}

export interface Landing {
	/** For whom there is no click id. */
	href: string;
	/** The click id goes between the two: it has no character that an address would spell otherwise. */
	beforeId: string;
	afterId: string;
}

/** What the shop's page is opened with; a click id that was in the address already gives way. */
export function landingAt(url: URL, parameter: string): Landing {
	if (url.searchParams.has(parameter)) url.searchParams.delete(parameter);
	const { href, hash: afterId, search } = url;
	// Also where it is empty: "/x?" has a mark that "/x" has not.
	url.hash = "";
	url.search = search === "" ? "?" : `${search}&`;
	return { href, beforeId: `${url.href}${new URLSearchParams({ [parameter]: "" })}`, afterId };
}

/** The name of the parameter that brings the click id to the shop's page, unless the programme has another one. */
export const CLICK_PARAMETER = "rbclick";

export const CODE_PATTERN = /^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/;
