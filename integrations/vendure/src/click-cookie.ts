// The route to which partner links lead if the storefront has no server of its own. It stores the click ID in a cookie
// and redirects to the same page of the storefront.

import { keepClick } from "@ringback/receiver/click";
import type { Settings } from "./options";

interface LandingRequest {
	/** Path and query below the route. */
	url: string;
	originalUrl: string;
	headers: Record<string, string | string[] | undefined>;
}

interface LandingResponse {
	statusCode: number;
	getHeader(name: string): number | string | string[] | undefined;
	setHeader(name: string, value: string | readonly string[]): unknown;
	end(): unknown;
}

/** Returns the handler of the landing route for Express. */
export function createLanding(settings: Settings, storefrontUrl: string) {
	const { clickParameter: parameter, clickDays: days, cookieDomain: domain } = settings;
	const keeper = keepClick({ parameter, days, domain });
	return (request: LandingRequest, response: LandingResponse): void => {
		keeper.node(request, response);
		const [path = "/", query = ""] = request.url.split("?");
		const rest = new URLSearchParams(query);
		rest.delete(parameter);
		response.statusCode = 303;
		response.setHeader("Cache-Control", "no-store");
		response.setHeader("Location", `${storefrontUrl}${path}${rest.size === 0 ? "" : `?${rest}`}`);
		response.end();
	};
}
