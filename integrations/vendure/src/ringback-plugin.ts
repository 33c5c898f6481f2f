// The plugin: its tables, the order's custom fields, the two routes and the nightly task.

import { LanguageCode, PluginCommonModule, type Type, VendurePlugin } from "@vendure/core";
import { CallSender } from "./call-sender";
import { answerCallback, CallbackReceiver } from "./callback-receiver";
import { ClickKeeper, createLanding } from "./click-keeper";
import { RingbackCall, RingbackCallback, RingbackSale } from "./entities";
import { type RingbackPluginOptions, readSettings, SETTINGS, type Settings } from "./options";
import { OrderWatch } from "./order-watch";
import { Reconciliation, reconcileTask } from "./reconciliation";
import { SaleState } from "./sale-state";

export { RingbackCall, RingbackCallback, RingbackSale } from "./entities";
export type { BasketRule, RingbackPluginOptions } from "./options";
export { Reconciliation } from "./reconciliation";

/** Path of the Postback URL below the address of this server. */
const CALLBACK_ROUTE = "/ringback/postback";
/** Path to which partner links may lead, if the option `storefrontUrl` is set. */
const LANDING_ROUTE = "/ringback/landing";

/** Fields that only people of the shop see and nobody edits, with their labels. */
const SHOWN_FIELDS = [
	["ringbackStatus", "Network: status"],
	["ringbackBasketValue", "Network: value"],
	["ringbackCommission", "Network: commission"],
	["ringbackNetworkFee", "Network: fee"],
	["ringbackCredit", "Network: credited by"],
] as const;

declare module "@vendure/core/dist/entity/custom-entity-fields" {
	interface CustomOrderFields {
		ringbackClickId: string | null;
		ringbackStatus: string | null;
		ringbackBasketValue: string | null;
		ringbackCommission: string | null;
		ringbackNetworkFee: string | null;
		ringbackCredit: string | null;
	}
}

@VendurePlugin({
	imports: [PluginCommonModule],
	compatibility: "^3.3.0",
	entities: [RingbackSale, RingbackCall, RingbackCallback],
	providers: [
		{ provide: SETTINGS, useFactory: () => RingbackPlugin.settings },
		SaleState,
		OrderWatch,
		CallSender,
		ClickKeeper,
		CallbackReceiver,
		Reconciliation,
	],
	exports: [Reconciliation],
	configuration: (config) => {
		const { settings } = RingbackPlugin;
		config.customFields.Order.push(
			{ name: "ringbackClickId", type: "string", length: 512, nullable: true, public: true },
			...SHOWN_FIELDS.map(([name, label]) => ({
				name,
				type: "string" as const,
				nullable: true,
				public: false,
				readonly: true,
				label: [{ languageCode: LanguageCode.en, value: label }],
			})),
		);
		// The signature covers the raw body, so the route comes before Vendure's body parser.
		config.apiOptions.middleware.push({
			route: CALLBACK_ROUTE,
			handler: answerCallback,
			beforeListen: true,
		});
		if (settings.storefrontUrl !== undefined) {
			config.apiOptions.middleware.push({
				route: LANDING_ROUTE,
				handler: createLanding(settings.storefrontUrl),
				beforeListen: true,
			});
		}
		config.schedulerOptions.tasks.push(reconcileTask);
		return config;
	},
})
export class RingbackPlugin {
	static settings: Settings;

	static init(options: RingbackPluginOptions): Type<RingbackPlugin> {
		RingbackPlugin.settings = readSettings(options);
		return RingbackPlugin;
	}
}
