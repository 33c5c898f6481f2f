/** Name of the plugin in Vendure's log. */
export const LOG_CONTEXT = "RingbackPlugin";
