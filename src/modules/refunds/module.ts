import type { Module } from "../../module.ts";

export const REFUNDS: Module = { name: "refunds" };
