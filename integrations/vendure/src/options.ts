// The options of the plugin. A shop gives them once, in its Vendure configuration.

/** What `basketValue` contains, as agreed for the programme. See "From order to money" in the documentation. */
export type BasketRule = "TOTAL" | "TOTAL_NET" | "GOODS" | "GOODS_NET";

/** The first four options are required. They may be undefined for the compiler only, as variables of the environment are. */
export interface RingbackPluginOptions {
	/** Address of the network's service, such as `https://track.network.example`. */
	url: string | undefined;
	/** API key of the programme. */
	apiKey: string | undefined;
	/** Signing secret. While it is being replaced, both secrets with a comma between them, the new one first. */
	secret: string | undefined;
	/** Brand of the network, which is part of header names. The Integration page shows it. */
	brand: string | undefined;
	/** What the programme has agreed as `basketValue`. The default is `TOTAL`. */
	basketRule?: BasketRule;
	/**
	 * Where the customer's browser is redirected after the click ID was stored in a cookie. Set it if partner links lead
	 * to this server and not to the storefront.
	 */
	storefrontUrl?: string;
	/**
	 * Name of the query parameter with the click ID, until the network has answered with that of the programme. The
	 * default is `rbclick`.
	 */
	clickParameter?: string;
	/**
	 * Days for which the cookie with the click ID is kept, until the network has answered with the programme's click
	 * window. The default is 30.
	 */
	clickDays?: number;
	/** Domain of the cookie, such as `shop.example`, if the storefront and this server are two hosts below it. */
	cookieDomain?: string;
	/**
	 * True if the API key may approve and reject, which is the default. With a key that only reports, nothing is approved
	 * by the plugin, and cancelled orders are reversed.
	 */
	keyDecides?: boolean;
	/** True if an order is approved when it is delivered. By default the programme's approval window approves it. */
	approvesDelivered?: boolean;
}

export interface Settings {
	url: string;
	apiKey: string;
	/** Signing secret, or `NEW,OLD`. The library splits and checks it. */
	secret: string;
	brand: string;
	basketRule: BasketRule;
	storefrontUrl: string | undefined;
	clickParameter: string;
	clickDays: number;
	cookieDomain: string | undefined;
	keyDecides: boolean;
	approvesDelivered: boolean;
}

export const SETTINGS = Symbol("RINGBACK_SETTINGS");

/** Fills in the defaults. Throws if a required option is missing, so that the shop does not start without it. */
export function readSettings(options: RingbackPluginOptions): Settings {
	const { url, apiKey, secret, brand } = options;
	if (!url || !apiKey || !secret || !brand) {
		const missing = Object.entries({ url, apiKey, secret, brand }).filter(([, value]) => !value);
		throw new Error(`RingbackPlugin needs ${missing.map(([name]) => name).join(", ")}.`);
	}
	const { storefrontUrl } = options;
	if (storefrontUrl !== undefined && !isAddress(storefrontUrl)) {
		throw new Error("RingbackPlugin: storefrontUrl must begin with https://, such as https://www.shop.example.");
	}
	return {
		url,
		apiKey,
		secret,
		brand,
		basketRule: options.basketRule ?? "TOTAL",
		storefrontUrl: storefrontUrl?.replace(/\/$/, ""),
		clickParameter: options.clickParameter ?? "rbclick",
		clickDays: options.clickDays ?? 30,
		cookieDomain: options.cookieDomain,
		keyDecides: options.keyDecides ?? true,
		approvesDelivered: options.approvesDelivered ?? false,
	};
}

/** Returns true if browsers can be redirected to the address. On a developer's own machine it may be without TLS. */
function isAddress(text: string): boolean {
	if (!URL.canParse(text)) return false;
	const { protocol, hostname } = new URL(text);
	return protocol === "https:" || (protocol === "http:" && ["localhost", "127.0.0.1"].includes(hostname));
}
