//! Fields of values that are written here byte by byte, as the specifications say.

#![expect(clippy::unwrap_used, reason = "a test that cannot make its data has failed")]

use dedup_audit_schemas::{Member, SchemaError, Schemas, Undecoded};
use prost_reflect::prost::Message;
use prost_reflect::prost_types::field_descriptor_proto::{Label, Type};
use prost_reflect::prost_types::{
    DescriptorProto, EnumDescriptorProto, EnumValueDescriptorProto, FieldDescriptorProto,
    FileDescriptorProto, FileDescriptorSet,
};
use std::path::Path;

const PAYMENT: &str = r#"{"type":"record","name":"Payment","namespace":"shop","fields":[
    {"name":"id","type":"string"},
    {"name":"amount","type":{"type":"long","logicalType":"timestamp-millis"}},
    {"name":"customer","type":["null",{"type":"record","name":"Customer","fields":[{"name":"no","type":"int"}]}]},
    {"name":"tags","type":{"type":"array","items":"string"}},
    {"name":"more","type":{"type":"map","values":"bytes"}},
    {"name":"state","type":{"type":"enum","name":"State","symbols":["NEW","PAID"]}},
    {"name":"twin","type":["null","Customer"]}]}"#;

/// id "p-1", amount 64, customer 3, tags "a" and "b", more {"k": ff}, state PAID, no twin.
const VALUE: &[u8] = b"\x06p-1\x80\x01\x02\x06\x04\x02a\x02b\x00\x02\x02k\x02\xff\x00\x02\x00";

fn schemas(files: &[(&str, &[u8])]) -> Result<Schemas, SchemaError> {
    let home = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        std::fs::write(home.path().join(name), bytes).unwrap();
    }
    Schemas::load(home.path())
}

fn path(pointer: &str) -> Vec<String> {
    pointer.split('/').skip(1).map(str::to_owned).collect()
}

fn framed(id: u8, value: &[u8]) -> Vec<u8> {
    [&[0, 0, 0, 0, id], value].concat()
}

#[expect(clippy::unnecessary_wraps, reason = "it is held against what the calls return")]
fn text(text: &str) -> Result<Option<Member>, Undecoded> {
    Ok(Some(Member::Text(text.to_owned())))
}

#[expect(clippy::unnecessary_wraps, reason = "it is held against what the calls return")]
fn other(text: &str) -> Result<Option<Member>, Undecoded> {
    Ok(Some(Member::Other(text.to_owned())))
}

#[test]
fn fields_of_avro_records_are_found_wherever_they_stand() {
    let schemas = schemas(&[("payment.avsc", PAYMENT.as_bytes())]).unwrap();
    let at = |pointer: &str| schemas.avro(VALUE, &path(pointer));
    assert_eq!(at("/id"), text("p-1"));
    assert_eq!(at("/amount"), other("64"));
    assert_eq!(at("/customer/no"), other("3"));
    assert_eq!(at("/tags/1"), text("b"));
    assert_eq!(at("/tags/2"), Ok(None));
    assert_eq!(at("/more/k"), Ok(Some(Member::Bytes(vec![0xff]))));
    assert_eq!(at("/state"), text("PAID"));
    assert_eq!(at("/twin"), Ok(None));
    assert_eq!(at("/twin/no"), Ok(None));
    assert_eq!(at("/gone"), Ok(None));
    assert_eq!(at("/customer"), Err(Undecoded::NoSingleValue));
    assert_eq!(schemas.avro(&framed(7, VALUE), &path("/id")), text("p-1"), "the only schema is for all ids");
}

#[test]
fn what_does_not_fit_to_the_last_byte_is_not_decoded() {
    let schemas = schemas(&[("payment.avsc", PAYMENT.as_bytes())]).unwrap();
    let id = path("/id");
    for end in 0..VALUE.len() {
        assert_eq!(schemas.avro(&VALUE[..end], &id), Err(Undecoded::NotOfSchema), "{end} bytes");
    }
    assert_eq!(schemas.avro(&[VALUE, b"x"].concat(), &id), Err(Undecoded::NotOfSchema));
}

#[test]
fn schemas_with_ids_are_for_their_ids() {
    let newer = PAYMENT.replace("\"id\"", "\"paymentId\"");
    let files: [(&str, &[u8]); 2] = [("7.avsc", PAYMENT.as_bytes()), ("12.avsc", newer.as_bytes())];
    let both = schemas(&files).unwrap();
    assert_eq!(both.avro(&framed(7, VALUE), &path("/id")), text("p-1"));
    assert_eq!(both.avro(&framed(12, VALUE), &path("/id")), Ok(None));
    assert_eq!(both.avro(&framed(12, VALUE), &path("/paymentId")), text("p-1"));
    assert_eq!(both.avro(&framed(8, VALUE), &path("/id")), Err(Undecoded::NoSchema));
    assert_eq!(both.avro(VALUE, &path("/id")), Err(Undecoded::NoSchema));
    assert_eq!(both.protobuf(VALUE, &path("/id")), Err(Undecoded::NoSchema));
}

#[test]
fn a_schema_may_refer_to_types_in_other_files() {
    let order = r#"{"type":"record","name":"Order","fields":[{"name":"buyer","type":"shop.Customer"}]}"#;
    let customer =
        r#"{"type":"record","name":"Customer","namespace":"shop","fields":[{"name":"no","type":"int"}]}"#;
    let schemas = schemas(&[("3.avsc", order.as_bytes()), ("customer.avsc", customer.as_bytes())]).unwrap();
    assert_eq!(schemas.avro(&framed(3, b"\x06"), &path("/buyer/no")), other("3"));
}

/// A zigzag number.
fn long(number: i64) -> Vec<u8> {
    let mut bits = (number << 1 ^ number >> 63).cast_unsigned();
    let mut out = Vec::new();
    while bits > 0x7f {
        out.push(u8::try_from(bits & 0x7f).unwrap() | 0x80);
        bits >>= 7;
    }
    out.push(u8::try_from(bits).unwrap());
    out
}

#[test]
fn hostile_avro_ends_in_no_time() {
    let list = r#"{"type":"record","name":"Node","fields":[{"name":"next","type":["null","Node"]}]}"#;
    let nested = schemas(&[("node.avsc", list.as_bytes())]).unwrap();
    let deep = vec![2_u8; 10_000_000];
    assert_eq!(nested.avro(&deep, &path("/next/next")), Err(Undecoded::BeyondLimits));
    let string = schemas(&[("s.avsc", br#""string""#)]).unwrap();
    let count = [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0];
    assert_eq!(string.avro(&count, &[]), Err(Undecoded::NotOfSchema));
    // Ten thousand fields without a byte in each of a hundred thousand records of one byte: no schema of anybody's.
    let nulls: Vec<String> = (0..10_000).map(|n| format!(r#"{{"name":"n{n}","type":"null"}}"#)).collect();
    let wide = format!(
        r#"{{"type":"array","items":{{"type":"record","name":"W","fields":[{{"name":"i","type":"int"}},{}]}}}}"#,
        nulls.join(",")
    );
    let wide = schemas(&[("w.avsc", wide.as_bytes())]).unwrap();
    let value = |items: usize| [long(items.try_into().unwrap()), vec![0; items + 1]].concat();
    assert_eq!(wide.avro(&value(5), &path("/4/i")), other("0"));
    assert_eq!(wide.avro(&value(5), &path("/4/n9999")), Ok(None));
    assert_eq!(wide.avro(&value(100_000), &path("/4/i")), Err(Undecoded::BeyondLimits));
}

#[test]
fn values_that_take_no_byte_take_no_time() {
    let record = |items: &str| {
        format!(
            r#"{{"type":"record","name":"T","fields":[{{"name":"e","type":{items}}},{{"name":"id","type":"string"}}]}}"#
        )
    };
    // 2^29 empty records inside of one.
    let doubled = (1..30).fold(r#"{"type":"record","name":"E0","fields":[]}"#.to_owned(), |inside, n| {
        format!(
            r#"{{"type":"record","name":"E{n}","fields":[{{"name":"a","type":{inside}}},{{"name":"b","type":"E{}"}}]}}"#,
            n - 1
        )
    });
    let doublings = schemas(&[("t.avsc", record(&doubled).as_bytes())]).unwrap();
    assert_eq!(doublings.avro(b"\x02a", &path("/id")), text("a"));
    assert_eq!(doublings.avro(b"\x02a", &path("/e/a/b/b")), Err(Undecoded::NoSingleValue));
    assert_eq!(doublings.avro(b"\x02a", &path("/e/a/c")), Ok(None));
    // As many of each kind as a number can say.
    for items in [r#""null""#, &doubled, r#"{"type":"fixed","name":"F","size":0}"#] {
        let list = format!(r#"{{"type":"array","items":{items}}}"#);
        let many = schemas(&[("t.avsc", record(&list).as_bytes())]).unwrap();
        let value = [long(i64::MAX), long(i64::MIN), long(0), long(0), b"\x02a".to_vec()].concat();
        assert_eq!(many.avro(&value, &path("/id")), text("a"), "{items}");
        let value = [long(5).repeat(700_000), long(0), b"\x02a".to_vec()].concat();
        assert_eq!(many.avro(&value, &path("/id")), text("a"), "{items}");
    }
    let nulls = schemas(&[("t.avsc", record(r#"{"type":"array","items":"null"}"#).as_bytes())]).unwrap();
    assert_eq!(nulls.avro(b"\x04\x00\x02a", &path("/e/0")), Ok(None));
    let fixed = record(r#"{"type":"array","items":{"type":"fixed","name":"F","size":0}}"#);
    let fixed = schemas(&[("t.avsc", fixed.as_bytes())]).unwrap();
    assert_eq!(fixed.avro(b"\x04\x00\x02a", &path("/e/1")), Ok(Some(Member::Bytes(Vec::new()))));
    assert_eq!(fixed.avro(b"\x04\x00\x02a", &path("/e/2")), Ok(None));
    // A record inside of itself has no value.
    let own = record(r#""T""#);
    let own = schemas(&[("t.avsc", own.as_bytes())]).unwrap();
    assert_eq!(own.avro(b"\x02a", &path("/id")), Err(Undecoded::BeyondLimits));
}

#[test]
fn directories_that_do_not_tell_are_refused() {
    let error = |files: &[(&str, &[u8])]| schemas(files).unwrap_err().to_string();
    assert!(error(&[("readme.txt", b"")]).contains("no .avsc, .desc or .binpb file"));
    let cut = error(&[("a.avsc", br#"{"type":"record""#)]);
    assert!(cut.contains("a.avsc") && cut.contains("line 1 column 16"), "{cut}");
    assert!(error(&[("a.desc", b"\xff")]).contains("a.desc: no descriptor set"));
    // A field that descriptor sets do not have.
    assert!(error(&[("a.desc", b"x\n")]).contains("no file is described in it"));
    let two: [(&str, &[u8]); 2] = [("a.avsc", br#""string""#), ("b.avsc", br#""int""#)];
    assert!(error(&two).contains("2 avsc files without a registry id"));
    assert!(Schemas::load(Path::new("/no/such/directory")).unwrap_err().to_string().contains("/no/such"));
}

fn field(name: &str, number: i32, kind: Type, type_name: Option<&str>) -> FieldDescriptorProto {
    FieldDescriptorProto {
        name: Some(name.to_owned()),
        number: Some(number),
        label: Some(Label::Optional.into()),
        r#type: Some(kind.into()),
        type_name: type_name.map(str::to_owned),
        ..FieldDescriptorProto::default()
    }
}

/// Two messages, the second with one inside of it.
fn descriptor_set() -> Vec<u8> {
    let payment = DescriptorProto {
        name: Some("Payment".to_owned()),
        field: vec![
            field("payment_id", 1, Type::String, None),
            field("inner", 2, Type::Message, Some(".shop.Envelope.Inner")),
            field("state", 3, Type::Enum, Some(".shop.State")),
        ],
        ..DescriptorProto::default()
    };
    let inner = DescriptorProto {
        name: Some("Inner".to_owned()),
        field: vec![field("no", 1, Type::Sint64, None)],
        ..DescriptorProto::default()
    };
    let envelope = DescriptorProto {
        name: Some("Envelope".to_owned()),
        nested_type: vec![inner],
        ..DescriptorProto::default()
    };
    let value = |name: &str, number| EnumValueDescriptorProto {
        name: Some(name.to_owned()),
        number: Some(number),
        ..EnumValueDescriptorProto::default()
    };
    let state = EnumDescriptorProto {
        name: Some("State".to_owned()),
        value: vec![value("NEW", 0), value("PAID", 1)],
        ..EnumDescriptorProto::default()
    };
    let file = FileDescriptorProto {
        name: Some("shop.proto".to_owned()),
        package: Some("shop".to_owned()),
        message_type: vec![payment, envelope],
        enum_type: vec![state],
        syntax: Some("proto3".to_owned()),
        ..FileDescriptorProto::default()
    };
    FileDescriptorSet { file: vec![file] }.encode_to_vec()
}

#[test]
fn fields_of_protobuf_messages_are_found_by_the_index_path() {
    let schemas = schemas(&[("21.binpb", &descriptor_set())]).unwrap();
    let payment = b"\x0a\x03p-1\x12\x02\x08\x05\x18\x01";
    // The first message of the file: a count of 0, or one index 0.
    for index in [&b"\x00"[..], b"\x02\x00"] {
        let value = framed(21, &[index, payment].concat());
        assert_eq!(schemas.protobuf(&value, &path("/payment_id")), text("p-1"));
        assert_eq!(schemas.protobuf(&value, &path("/paymentId")), text("p-1"), "the JSON name");
        assert_eq!(schemas.protobuf(&value, &path("/inner/no")), other("-3"));
        assert_eq!(schemas.protobuf(&value, &path("/state")), text("PAID"));
        assert_eq!(schemas.protobuf(&value, &path("/gone")), Ok(None));
        assert_eq!(schemas.protobuf(&value, &path("/inner")), Err(Undecoded::NoSingleValue));
    }
    // The message inside of the second one.
    let inner = framed(21, b"\x04\x02\x00\x08\x05");
    assert_eq!(schemas.protobuf(&inner, &path("/no")), other("-3"));
    let beyond = framed(21, b"\x02\x08\x08\x05");
    assert_eq!(schemas.protobuf(&beyond, &path("/no")), Err(Undecoded::NoSchema));
    let cut = framed(21, b"\x00\x0a\x09p-1");
    assert_eq!(schemas.protobuf(&cut, &path("/payment_id")), Err(Undecoded::NotOfSchema));
    assert_eq!(schemas.protobuf(&framed(22, payment), &path("/payment_id")), Err(Undecoded::NoSchema));
}
