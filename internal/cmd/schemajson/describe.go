package main

import "github.com/hashicorp/terraform-plugin-go/tfprotov6"

type object map[string]any

// set puts a member that the CLI leaves out where it says nothing.
func set[T comparable](o object, key string, value T) {
	var zero T
	if value != zero {
		o[key] = value
	}
}

func describe(schemas *tfprotov6.GetProviderSchemaResponse, identities *tfprotov6.GetResourceIdentitySchemasResponse) object {
	actions := object{}
	for name, a := range schemas.ActionSchemas {
		actions[name] = object{"block": block(a.Schema.Block)}
	}
	functions := object{}
	for name, f := range schemas.Functions {
		functions[name] = function(f)
	}
	ids := object{}
	for name, s := range identities.IdentitySchemas {
		ids[name] = identity(s)
	}
	return object{
		"provider":                   schema(schemas.Provider),
		"resource_schemas":           byName(schemas.ResourceSchemas),
		"data_source_schemas":        byName(schemas.DataSourceSchemas),
		"ephemeral_resource_schemas": byName(schemas.EphemeralResourceSchemas),
		"list_resource_schemas":      byName(schemas.ListResourceSchemas),
		"resource_identity_schemas":  ids,
		"action_schemas":             actions,
		"functions":                  functions,
	}
}

func byName(schemas map[string]*tfprotov6.Schema) object {
	o := object{}
	for name, s := range schemas {
		o[name] = schema(s)
	}
	return o
}

func schema(s *tfprotov6.Schema) object {
	return object{"version": s.Version, "block": block(s.Block)}
}

func block(b *tfprotov6.SchemaBlock) object {
	o := object{"description_kind": textKind(b.DescriptionKind)}
	set(o, "description", b.Description)
	set(o, "deprecated", b.Deprecated)
	if len(b.Attributes) > 0 {
		o["attributes"] = attributes(b.Attributes)
	}
	blocks := object{}
	for _, n := range b.BlockTypes {
		nested := object{"block": block(n.Block), "nesting_mode": map[tfprotov6.SchemaNestedBlockNestingMode]string{
			tfprotov6.SchemaNestedBlockNestingModeSingle: "single", tfprotov6.SchemaNestedBlockNestingModeList: "list",
			tfprotov6.SchemaNestedBlockNestingModeSet: "set", tfprotov6.SchemaNestedBlockNestingModeMap: "map",
			tfprotov6.SchemaNestedBlockNestingModeGroup: "group",
		}[n.Nesting]}
		set(nested, "min_items", n.MinItems)
		set(nested, "max_items", n.MaxItems)
		blocks[n.TypeName] = nested
	}
	if len(blocks) > 0 {
		o["block_types"] = blocks
	}
	return o
}

func attributes(list []*tfprotov6.SchemaAttribute) object {
	o := object{}
	for _, a := range list {
		o[a.Name] = attribute(a)
	}
	return o
}

func attribute(a *tfprotov6.SchemaAttribute) object {
	o := object{"description_kind": textKind(a.DescriptionKind)}
	if a.NestedType == nil {
		o["type"] = a.Type
	} else {
		o["nested_type"] = object{"attributes": attributes(a.NestedType.Attributes), "nesting_mode": map[tfprotov6.SchemaObjectNestingMode]string{
			tfprotov6.SchemaObjectNestingModeSingle: "single", tfprotov6.SchemaObjectNestingModeList: "list",
			tfprotov6.SchemaObjectNestingModeSet: "set", tfprotov6.SchemaObjectNestingModeMap: "map",
		}[a.NestedType.Nesting]}
	}
	set(o, "description", a.Description)
	set(o, "deprecated", a.Deprecated)
	set(o, "required", a.Required)
	set(o, "optional", a.Optional)
	set(o, "computed", a.Computed)
	set(o, "sensitive", a.Sensitive)
	set(o, "write_only", a.WriteOnly)
	return o
}

func identity(s *tfprotov6.ResourceIdentitySchema) object {
	attributes := object{}
	for _, a := range s.IdentityAttributes {
		o := object{"type": a.Type}
		set(o, "description", a.Description)
		set(o, "required_for_import", a.RequiredForImport)
		set(o, "optional_for_import", a.OptionalForImport)
		attributes[a.Name] = o
	}
	return object{"version": s.Version, "attributes": attributes}
}

func function(f *tfprotov6.Function) object {
	parameters := []object{}
	for _, p := range f.Parameters {
		parameters = append(parameters, parameter(p))
	}
	o := object{"summary": f.Summary, "description": f.Description, "parameters": parameters, "return_type": f.Return.Type}
	if f.VariadicParameter != nil {
		o["variadic_parameter"] = parameter(f.VariadicParameter)
	}
	return o
}

func parameter(p *tfprotov6.FunctionParameter) object {
	o := object{"name": p.Name, "type": p.Type}
	set(o, "description", p.Description)
	set(o, "is_nullable", p.AllowNullValue)
	return o
}

func textKind(k tfprotov6.StringKind) string {
	if k == tfprotov6.StringKindMarkdown {
		return "markdown"
	}
	return "plain"
}
