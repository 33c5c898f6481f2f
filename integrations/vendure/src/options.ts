// The options of the plugin. A shop gives them once, in its Vendure configuration.

/** What `basketValue` contains, as agreed for the programme. See "From order to money" in the documentation. */
export type BasketRule = "TOTAL" | "TOTAL_NET" | "GOODS" | "GOODS_NET";

export interface RingbackPluginOptions {
	/** Address of the network's service, such as `https://track.network.example`. */
	url: string;
	/** API key of the programme. */
	apiKey: string;
	/** Signing secret. While it is being replaced, two secrets with a comma between them, the new one first. */
	secret: string;
	/** Brand of the network, which is part of header names. The Integration page shows it. */
	brand: string;
	/** What the programme has agreed as `basketValue`. The default is `TOTAL`. */
	basketRule?: BasketRule;
	/**
	 * Where the customer's browser is redirected after the click ID was stored in a cookie. Set it if partner links lead
	 * to this server and not to the storefront.
	 */
	storefrontUrl?: string;
	/** Name of the query parameter with the click ID. The default is `rbclick`. */
	clickParameter?: string;
	/** Days for which the cookie with the click ID is kept, which is the programme's click window. The default is 30. */
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

export type Settings = Required<Omit<RingbackPluginOptions, "storefrontUrl" | "cookieDomain" | "secret">> & {
	secrets: readonly string[];
	storefrontUrl: string | undefined;
	cookieDomain: string | undefined;
};

export const SETTINGS = Symbol("RINGBACK_SETTINGS");

/** Fills in the defaults. Throws if a required option is missing, so that the shop does not start without it. */
export function readSettings(options: RingbackPluginOptions): Settings {
	for (const name of ["url", "apiKey", "secret", "brand"] as const) {
		if (!options[name]) throw new Error(`RingbackPlugin: the option ${name} is missing.`);
	}
	return {
		url: options.url,
		apiKey: options.apiKey,
		secrets: options.secret.split(",").map((secret) => secret.trim()),
		brand: options.brand,
		basketRule: options.basketRule ?? "TOTAL",
		storefrontUrl: options.storefrontUrl?.replace(/\/$/, ""),
		clickParameter: options.clickParameter ?? "rbclick",
		clickDays: options.clickDays ?? 30,
		cookieDomain: options.cookieDomain,
		keyDecides: options.keyDecides ?? true,
		approvesDelivered: options.approvesDelivered ?? false,
	};
}
